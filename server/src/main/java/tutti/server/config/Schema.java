package tutti.server.config;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * Which keys a configuration file may have, derived from the records that hold the values: a section is a record, a key
 * is a record component with its {@link Setting}.
 */
final class Schema {
    private Schema() {}

    /**
     * One key.
     *
     * @param name as written in the file
     * @param component where its value goes
     * @param setting what there is to say about it
     */
    record Key(String name, RecordComponent component, Setting setting) {
        /** The record below this key, or null if it holds a value or a list. */
        Class<?> section() {
            return component.getType();
        }

        boolean isSection() {
            return component.getType().isRecord() && !Values.isScalar(component.getType());
        }

        boolean isList() {
            return component.getType() == List.class;
        }

        /** The record that each element of the list is. */
        Class<?> element() {
            return (Class<?>) ((ParameterizedType) component.getGenericType()).getActualTypeArguments()[0];
        }

        /** Whether the value is null when the file does not give it. */
        boolean isOptional() {
            return setting.byDefault().equals(Setting.NONE);
        }

        /** Whether the file must give it; a section need not be there if nothing in it must. */
        boolean isRequired() {
            return setting.byDefault().equals(Setting.REQUIRED) && !isSection();
        }
    }

    /** The keys of a section, in the order of the record. */
    static List<Key> keys(Class<?> section) {
        List<Key> keys = new ArrayList<>();
        for (RecordComponent component : section.getRecordComponents()) {
            Setting setting = Objects.requireNonNull(component.getAnnotation(Setting.class),
                    () -> component + " of " + section + " says nothing about itself");
            keys.add(new Key(kebab(component, setting), component, setting));
        }
        return keys;
    }

    /** Full paths of all keys below a section, sections included. */
    static List<String> paths(Class<?> section, String prefix) {
        List<String> paths = new ArrayList<>();
        for (Key key : keys(section)) {
            paths.add(prefix + key.name());
            if (key.isSection()) {
                paths.addAll(paths(key.section(), prefix + key.name() + "."));
            } else if (key.isList()) {
                paths.addAll(paths(key.element(), prefix + key.name() + "[]."));
            }
        }
        return paths;
    }

    private static String kebab(RecordComponent component, Setting setting) {
        String name = component.getName();
        if (setting.bytes() && component.getType() != long.class) {
            throw new IllegalStateException(name + " counts bytes and must be a long");
        }
        StringBuilder kebab = new StringBuilder();
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            if (Character.isUpperCase(c)) {
                kebab.append('-');
            }
            kebab.append(c);
        }
        return kebab.toString().toLowerCase(Locale.ROOT);
    }
}
