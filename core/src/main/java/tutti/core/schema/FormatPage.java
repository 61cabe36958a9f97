package tutti.core.schema;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The page that describes message sets byte by byte. */
public final class FormatPage {
    private static final String BEGINNING = """
            # Wire format

            What nodes tell each other and keep, byte by byte. This page is made from the declarations in the source
            (`tutti.core.schema`); [decision 0012](decisions/0012-wire-format.md) says why they are as they are.

            A message is 1 byte with the version in which it was written, 1 byte with its kind, and its fields one after
            the other, big-endian, without padding. Whatever has no fixed size begins with its count or length, 4 bytes. Bytes
            behind the end of a message, unknown kinds and versions, and values outside of what is said here are refused.

            This build speaks SPOKEN.

            - **Nodes** tell each other in their [greetings](#greetings) (of a Raft order) or
              [announcements](#group-announcements) (of a group order) what they speak, and use the newest version that both
              speak between them, and the newest that all speak in the log. A node with which there is none in common is turned
              away. Names of capabilities that a node does not know mean nothing to it.
            - **The log, files and snapshots** hold each message in the version in which it was written. A node
              that finds one that it does not read refuses to start, and says whether an older or a newer release wrote it.
            - **A new field or kind** says since which version it is there, and what a field is for those who do not know it.
            """;

    private final StringBuilder page = new StringBuilder();

    private FormatPage() {}

    /** Sections for these, and for the parts that they are made of. */
    public static String of(Collection<? extends MessageSet<?>> sets) {
        FormatPage page = new FormatPage();
        page.page.append(BEGINNING.replace("SPOKEN", Versions.SPOKEN.toString()));
        Set<Schema<?>> parts = new TreeSet<>(Comparator.comparing(Schema::name));
        sets.stream().sorted(Comparator.comparing(MessageSet::name)).forEach(set -> page.section(set, parts));
        page.page.append("\n# Parts of messages\n");
        for (Schema<?> part : parts) {
            page.page.append("\n### ").append(part.name()).append("\n\n");
            page.fields(part.fields());
        }
        return page.page.toString();
    }

    private void section(MessageSet<?> set, Set<Schema<?>> parts) {
        page.append("\n## ").append(set.name()).append("\n\n").append(set.about()).append('\n');
        TreeMap<Integer, Schema<?>> kinds = new TreeMap<>();
        set.schemas().forEach(schema -> kinds.put(schema.kind(), schema));
        kinds.forEach((kind, schema) -> {
            page.append("\n**Kind ").append(kind).append(", ").append(schema.name()).append(".** ")
                    .append(schema.about())
                    .append(schema.since() == 0 ? "" : " Since version " + schema.since() + ".").append("\n\n");
            fields(schema.fields());
            schema.fields().forEach(field -> field.type.parts(parts));
        });
    }

    private void fields(List<? extends Field<?, ?>> fields) {
        if (fields.isEmpty()) {
            page.append("No fields.\n");
            return;
        }
        page.append("| field | bytes |\n|---|---|\n");
        fields.forEach(
                field -> page.append("| ").append(field.name).append(" | ").append(field.words()).append(" |\n"));
    }
}
