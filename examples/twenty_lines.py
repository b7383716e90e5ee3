import grebe

schema = grebe.Schema(
    id=grebe.key(), title=grebe.text("en"), tags=grebe.keyword(many=True)
)
with grebe.open(":memory:", schema) as ix:  # or a folder: grebe.open("books", schema)
    ix.add({"id": "1", "title": "The Old Man and the Sea", "tags": ["sea", "short"]})
    ix.add({"id": "2", "title": "Twenty Thousand Leagues under the Sea", "tags": ["sea"]})
    ix.add({"id": "3", "title": "An Old-Fashioned Girl"})
    ix.commit(soft=True)  # visible; ix.commit() makes durable too

    hits = ix.search("old sea", facets=["tags"], highlight=["title"])
    for hit in hits:
        print(f"{hit.score:.2f}", hit.id, hit.highlights["title"][0])
    print(hits.total, "found,", hits.facets["tags"])

    print(ix.search('title:"old man" OR tags:sea', where="-tags:short").ids)
    ix.delete_by_query("title:girl")
    ix.commit(soft=True)
    print(len(ix), "left")
