package bench;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** W3: the script of the replay and its clock; the engines plug in. README.md has it step by step. */
public final class Suite {
  public static final int TESTS = 83, COMMITS = 24;

  /** Key, facet fields, filters, where the search word comes from and which field it is searched in, typed fields. */
  public enum Kind {
    SEARCH("search", "search.uniqueid", new String[] {"dc.type", "dc.publisher", "dc.subject"},
        new String[] {"read:g0", "withdrawn:false"}, "dc.title", "search_text",
        "dc.title:text dc.description.abstract:text dc.date.accessioned:date lastModified:date dateIssued.year:int withdrawn:boolean "
            + "discoverable:boolean latestVersion:boolean has_content_in_original_bundle:boolean"),
    STATISTICS("statistics", "uid", new String[] {"countryCode", "bundleName", "statistics_type"},
        new String[] {"isBot:false", "type:[0 TO 3]"}, "city", "city", "type:int time:date latitude:double longitude:double isBot:boolean"),
    OAI("oai", "item.handle", new String[] {"metadata.dc.type", "item.collections", "item.communities"},
        new String[] {"item.public:true", "item.deleted:false"}, "item.submitter", "item.submitter",
        "item.compile:text item.lastmodified:date item.public:boolean item.deleted:boolean"),
    AUTHORITY("authority", "id", new String[] {"field", "authority_type", "last_name"},
        new String[] {"deleted:false", "field:dc_contributor_author"}, "last_name", "value",
        "value:text name_variant:text creation_date:date last_modified_date:date deleted:boolean"),
    SUGGESTION("suggestion", "suggestion_fullid", new String[] {"source", "category", "contributors"},
        new String[] {"processed:false", "trust:[0.2 TO *]"}, "title", "title",
        "title:text abstract:text date:date trust:double processed:boolean"),
    QAEVENT("qaevent", "event_id", new String[] {"source", "topic", "resource_uuid"},
        new String[] {"source:openaire", "trust:[0.5 TO *]"}, "title", "title", "title:text message:text last_update:date trust:double");

    public final String core, key, wordFrom, wordIn;
    public final String[] facets, filters;
    public final Map<String, String> typed = new LinkedHashMap<>();

    Kind(String core, String key, String[] facets, String[] filters, String wordFrom, String wordIn, String typed) {
      this.core = core;
      this.key = key;
      this.facets = facets;
      this.filters = filters;
      this.wordFrom = wordFrom;
      this.wordIn = wordIn;
      for (String f : typed.split(" ")) this.typed.put(f.split(":")[0], f.split(":")[1]);
    }
  }

  /** Which core each of a test's 24 commits goes to: this list twice. */
  private static final Kind[] ORDER = {Kind.SEARCH, Kind.STATISTICS, Kind.SEARCH, Kind.OAI, Kind.SEARCH, Kind.AUTHORITY, Kind.SEARCH,
      Kind.SUGGESTION, Kind.SEARCH, Kind.QAEVENT, Kind.SEARCH, Kind.STATISTICS};

  /** Documents are named by their number in the core's file. A null word asks for everything. */
  public interface Engine {
    void load(Kind k, List<JsonNode> documents) throws Exception;

    void add(Kind k, int document) throws Exception;

    void commit(Kind k, boolean hard) throws Exception;

    void search(Kind k, String word) throws Exception;

    void wipe(Kind k) throws Exception;

    long count(Kind k) throws Exception;
  }

  private final Engine engine;
  private final Map<Kind, List<String>> keys = new LinkedHashMap<>(), words = new LinkedHashMap<>();

  public Suite(Engine engine, String data) throws Exception {
    this.engine = engine;
    for (Kind k : Kind.values())
      try (Jsonl in = new Jsonl(data + "/dspace-" + k.core + ".jsonl")) {
        List<JsonNode> documents = in.chunk(Integer.MAX_VALUE);
        engine.load(k, documents);
        keys.put(k, documents.stream().map(d -> d.get(k.key).asText()).toList());
        // a whole value of a keyword field, the first word of a text field
        words.put(k, documents.stream().map(d -> d.get(k.wordFrom).asText())
            .map(w -> k == Kind.STATISTICS || k == Kind.OAI ? w : w.split("[ ,]")[0]).toList());
      }
  }

  /** One pass of all tests; returns the seconds of its calls. */
  public double pass(boolean hard) throws Exception {
    Shapes random = new Shapes(3);
    int[] at = new int[Kind.values().length];
    long total = 0;
    for (int test = 0; test < TESTS; test++) {
      Map<Kind, List<Integer>> mine = new LinkedHashMap<>();
      Map<Kind, Set<String>> live = new LinkedHashMap<>();
      for (Kind k : Kind.values()) {
        mine.put(k, new ArrayList<>());
        live.put(k, new HashSet<>());
      }
      for (int c = 0; c < COMMITS; c++) {
        Kind k = ORDER[c % ORDER.length];
        List<Integer> own = mine.get(k);
        int[] batch = new int[1 + random.below(5)];
        for (int i = 0; i < batch.length; i++) {
          boolean again = random.below(4) == 0 && !own.isEmpty();
          batch[i] = again ? own.get(random.below(own.size())) : at[k.ordinal()]++ % keys.get(k).size();
          if (!again) own.add(batch[i]);
          live.get(k).add(keys.get(k).get(batch[i]));
        }
        total += step(k, batch, hard);
        // not timed: everything added in this test, and nothing else, is there
        if (engine.count(k) != live.get(k).size()) throw new IllegalStateException("wrong documents visible in " + k.core);
      }
      long t = System.nanoTime();
      for (Kind k : Kind.values()) {
        engine.wipe(k);
        engine.commit(k, false);
      }
      total += System.nanoTime() - t;
      for (Kind k : Kind.values()) if (engine.count(k) != 0) throw new IllegalStateException("documents left after a wipe of " + k.core);
    }
    return total / 1e9;
  }

  private long step(Kind k, int[] batch, boolean hard) throws Exception {
    long t = System.nanoTime();
    for (int d : batch) engine.add(k, d);
    engine.commit(k, hard);
    engine.search(k, null);
    engine.search(k, words.get(k).get(batch[batch.length - 1]));
    return System.nanoTime() - t;
  }
}
