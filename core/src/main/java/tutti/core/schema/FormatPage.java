package tutti.core.schema;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The page that describes message sets byte by byte. */
public final class FormatPage {
    private final StringBuilder page = new StringBuilder();

    private FormatPage() {}

    /** Sections for these, and for the parts that they are made of. */
    public static String of(Collection<? extends MessageSet<?>> sets) {
        FormatPage page = new FormatPage();
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
