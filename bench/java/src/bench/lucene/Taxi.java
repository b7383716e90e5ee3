package bench.lucene;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoubleField;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntField;
import org.apache.lucene.document.KeywordField;
import org.apache.lucene.document.LatLonDocValuesField;
import org.apache.lucene.document.LatLonPoint;
import org.apache.lucene.document.LongField;
import org.apache.lucene.document.StringField;

/** The records of W5t: parsed outside the clock, made into documents inside it. */
final class Taxi {
  private Taxi() {}

  static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss");
  static final String[] KEYWORDS = {"vendor_id", "vendor_name", "cab_color", "rate_code_id", "store_and_fwd_flag", "payment_type", "trip_type"};
  static final String[] DOUBLES = {"trip_distance", "fare_amount", "extra", "mta_tax", "improvement_surcharge", "tip_amount",
      "tolls_amount", "total_amount"};

  /** One parsed record. */
  record Row(String key, String[] keywords, long[] dates, int passengers, double[] numbers, double[] places) {}


  static Row taxi(JsonNode n) throws IOException {
    String[] keywords = new String[KEYWORDS.length];
    for (int i = 0; i < keywords.length; i++) keywords[i] = n.get(KEYWORDS[i]).asText();
    double[] numbers = new double[DOUBLES.length];
    for (int i = 0; i < numbers.length; i++) numbers[i] = n.get(DOUBLES[i]).asDouble();
    long[] dates = new long[2];
    for (int i = 0; i < 2; i++)
      dates[i] = LocalDateTime.parse(n.get(i == 0 ? "pickup_datetime" : "dropoff_datetime").asText(), STAMP).toEpochSecond(ZoneOffset.UTC);
    JsonNode a = n.get("pickup_location"), b = n.get("dropoff_location");
    double[] places = {a.get(1).asDouble(), a.get(0).asDouble(), b.get(1).asDouble(), b.get(0).asDouble()};
    return new Row(n.get("id").asText(), keywords, dates, n.get("passenger_count").asInt(), numbers, places);
  }

  static Document taxiDocument(Row r) {
    Document d = new Document();
    d.add(new StringField("key", r.key, Field.Store.YES));
    for (int i = 0; i < KEYWORDS.length; i++) d.add(new KeywordField(KEYWORDS[i], r.keywords[i], Field.Store.NO));
    d.add(new LongField("pickup_datetime", r.dates[0], Field.Store.NO));
    d.add(new LongField("dropoff_datetime", r.dates[1], Field.Store.NO));
    d.add(new IntField("passenger_count", r.passengers, Field.Store.NO));
    for (int i = 0; i < DOUBLES.length; i++) d.add(new DoubleField(DOUBLES[i], r.numbers[i], Field.Store.NO));
    d.add(new LatLonPoint("pickup_location", r.places[0], r.places[1]));
    d.add(new LatLonDocValuesField("pickup_location", r.places[0], r.places[1]));
    d.add(new LatLonPoint("dropoff_location", r.places[2], r.places[3]));
    d.add(new LatLonDocValuesField("dropoff_location", r.places[2], r.places[3]));
    return d;
  }
}
