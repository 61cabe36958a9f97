package tutti.core.flight;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Message;
import tutti.core.protocol.TransactionRequest;

/**
 * How objects of a class are written into a state image and made again: the classes of {@code tutti.core} by their fields,
 * a few containers of the JDK by their elements, nothing else. Immutable.
 */
final class StateShape {
    /** How a class is treated. */
    enum Kind {
        /** By its fields, which are set after it was made. */
        OBJECT,
        /** By its components, which are given to its canonical constructor. */
        RECORD,
        /** By its elements, in their order. */
        COLLECTION,
        /** By its entries, in their order. */
        MAP,
        /** By the name of its constant. */
        ENUM
    }

    private static final String ROOM = "tutti.core.";
    private static final Set<Class<?>> COLLECTIONS = Set.of(ArrayList.class, ArrayDeque.class, HashSet.class,
            LinkedHashSet.class, TreeSet.class);
    private static final Set<Class<?>> MAPS = Set.of(HashMap.class, LinkedHashMap.class, TreeMap.class);
    private static final Constructor<?> OBJECT_CONSTRUCTOR = objectConstructor();

    private final Class<?> type;
    private final Kind kind;
    private final Field[] fields;

    private StateShape(Class<?> type, Kind kind, Field[] fields) {
        this.type = type;
        this.kind = kind;
        this.fields = fields;
    }

    private static Constructor<?> objectConstructor() {
        try {
            return Object.class.getConstructor();
        } catch (NoSuchMethodException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /**
     * The shape of a class.
     *
     * @throws IllegalArgumentException if objects of it cannot be in an image
     */
    static StateShape of(Class<?> type) {
        if (COLLECTIONS.contains(type)) {
            return new StateShape(type, Kind.COLLECTION, new Field[0]);
        }
        if (MAPS.contains(type)) {
            return new StateShape(type, Kind.MAP, new Field[0]);
        }
        if (!type.getName().startsWith(ROOM) || type.isHidden() || type.isInterface() || type.isArray()) {
            throw new IllegalArgumentException(
                    "an object of " + type.getName() + " cannot be part of a recorded state");
        }
        if (type.isEnum()) {
            return new StateShape(type, Kind.ENUM, new Field[0]);
        }
        if (type.isRecord()) {
            return new StateShape(type, Kind.RECORD,
                    Arrays.stream(type.getRecordComponents()).map(one -> field(type, one)).toArray(Field[]::new));
        }
        List<Field> fields = new ArrayList<>();
        for (Class<?> of = type; of != null && !of.equals(Object.class); of = of.getSuperclass()) {
            for (Field field : of.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    fields.add(field);
                }
            }
        }
        return new StateShape(type, Kind.OBJECT, fields.toArray(Field[]::new));
    }

    /**
     * The shape of a class that an image names.
     *
     * @throws IllegalArgumentException if there is no such class, or objects of it cannot be in an image, or it looks
     *             different in this build
     */
    static StateShape named(String name, String layout) {
        if (!name.startsWith(ROOM) && Stream.concat(COLLECTIONS.stream(), MAPS.stream())
                .noneMatch(type -> type.getName().equals(name))) {
            throw new IllegalArgumentException("class " + name + " cannot be part of a protocol's state");
        }
        StateShape found;
        try {
            found = of(Class.forName(name, false, StateShape.class.getClassLoader()));
        } catch (ClassNotFoundException missing) {
            throw new IllegalArgumentException("this build has no class " + name
                    + ": the recording is of another build; replay it with that one", missing);
        }
        if (!found.layout().equals(layout)) {
            throw new IllegalArgumentException("class " + name + " has the fields [" + layout
                    + "] in the recording and ["
                    + found.layout() + "] in this build: the recording is of another build; replay it with that one");
        }
        return found;
    }

    private static Field field(Class<?> type, RecordComponent component) {
        try {
            Field field = type.getDeclaredField(component.getName());
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    Class<?> type() {
        return type;
    }

    Kind kind() {
        return kind;
    }

    /** In the order in which they are written. */
    Field[] fields() {
        return fields;
    }

    /** Names and types of the fields: what must be the same where the image is read. */
    String layout() {
        return Arrays.stream(fields).map(field -> field.getType().getName() + " " + field.getName())
                .collect(Collectors.joining(", "));
    }

    /**
     * Whether objects are written wherever they are met, rather than once: what protocols are given from outside is
     * immutable, and who shares it with whom means nothing.
     */
    boolean isValue() {
        return type.getPackageName().equals("tutti.core.txn") || TransactionRequest.class.isAssignableFrom(type)
                || Message.class.isAssignableFrom(type) || type.equals(Execution.class);
    }

    /** A new object whose fields or elements are still to be set; of a class that is no record and no enum. */
    Object make() {
        try {
            if (kind == Kind.COLLECTION || kind == Kind.MAP) {
                return type.getConstructor().newInstance();
            }
            // As the JDK's own serialization makes objects: without a constructor of the class itself. The class is not
            // named because the compiler warns of it, although the JDK keeps it for serialization libraries.
            Class<?> factory = Class.forName("sun.reflect.ReflectionFactory");
            Method maker = factory.getMethod("newConstructorForSerialization", Class.class, Constructor.class);
            Constructor<?> constructor = (Constructor<?>) maker
                    .invoke(factory.getMethod("getReflectionFactory").invoke(null), type, OBJECT_CONSTRUCTOR);
            return constructor.newInstance();
        } catch (ReflectiveOperationException broken) {
            throw new IllegalStateException("cannot make an object of " + type.getName(), broken);
        }
    }

    /** A record of these components. */
    Object make(Object[] components) {
        Class<?>[] types = Arrays.stream(fields).map(Field::getType).toArray(Class<?>[]::new);
        try {
            Constructor<?> constructor = type.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return constructor.newInstance(components);
        } catch (ReflectiveOperationException broken) {
            throw new IllegalArgumentException("cannot make a record " + type.getName() + ": " + broken.getCause(),
                    broken);
        }
    }
}
