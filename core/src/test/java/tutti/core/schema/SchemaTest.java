package tutti.core.schema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SchemaTest {
    /** As it is in version 3: {@code colour} came with 2, {@code legs} with 3. */
    private record Animal(String name, int colour, int legs) implements Encoded {
        static final Schema<Animal> SCHEMA = Schema.message("animal", 1, Animal.class, "An animal.").of(
                Field.of("name", Types.text(16), Animal::name),
                Field.of("colour", Types.u8(0, 7), Animal::colour).since(2, 5),
                Field.of("legs", Types.INT, Animal::legs).since(3, 4), Animal::new);
    }

    private record Plant(long age) implements Encoded {
        static final Schema<Plant> SCHEMA = Schema.message("plant", 2, Plant.class, "A plant.").since(2)
                .of(Field.of("age", Types.NATURAL, Plant::age), Plant::new);
    }

    private static final MessageSet<Encoded> SET = new MessageSet<>("zoo", "In the zoo.", new Versions(1, 3),
            List.of(Animal.SCHEMA, Plant.SCHEMA));

    private static Encoded read(byte[] bytes) {
        return SET.decode(ByteBuffer.wrap(bytes));
    }

    @Test
    void whatAnOlderReleaseWroteIsReadWithDefaults() {
        assertEquals(new Animal("cat", 5, 4), read(new byte[]{1, 1, 0, 0, 0, 3, 'c', 'a', 't'}));
        assertEquals(new Animal("cat", 2, 4), read(new byte[]{2, 1, 0, 0, 0, 3, 'c', 'a', 't', 2}));
        assertEquals(new Animal("cat", 2, 3), read(new byte[]{3, 1, 0, 0, 0, 3, 'c', 'a', 't', 2, 0, 0, 0, 3}));
    }

    @Test
    void forAnOlderReleaseOnlyWhatItCanKnowIsWritten() {
        for (int version = 1; version <= 3; version++) {
            assertEquals(new Animal("cat", 5, 4), read(new Animal("cat", 5, 4).bytes(version)));
        }
        assertEquals("colour is 2, which cannot be said in wire version 1, only since 2",
                assertThrows(IllegalArgumentException.class, () -> new Animal("cat", 2, 4).bytes(1)).getMessage());
        assertEquals("plant cannot be said in wire version 1, only since 2",
                assertThrows(IllegalArgumentException.class, () -> new Plant(2).bytes(1)).getMessage());
    }

    private static String refusal(int... bytes) {
        byte[] message = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            message[i] = (byte) bytes[i];
        }
        return assertThrows(DecodeException.class, () -> read(message)).getMessage();
    }

    @Test
    void whatIsNotKnownIsRefusedByVersionAndKindWithTheRemedy() {
        assertEquals(
                "zoo: kind 1 in wire version 4, but this build reads wire versions 1 to 3: it was written by a newer"
                        + " release, so upgrade this node to that one",
                refusal(4, 1, 0));
        assertTrue(refusal(0, 1, 0).contains("kind 1 in wire version 0, but this build reads wire versions 1 to 3"));
        assertEquals("zoo, kind 9, wire version 2: unknown kind 9; zoo has 1 animal, 2 plant", refusal(2, 9));
        assertEquals("zoo, plant, kind 2, wire version 1: plant in wire version 1, but it is there only since 2",
                refusal(1, 2, 0, 0, 0, 0, 0, 0, 0, 1));
        assertEquals("zoo: a message of 1 bytes", refusal(1));
    }

    @Test
    void whatIsWrongIsRefusedByTheNameOfTheField() {
        assertEquals("zoo, animal, kind 1, wire version 1: name: a count of 17, which may be 0 to 16",
                refusal(1, 1, 0, 0, 0, 17));
        assertEquals(
                "zoo, animal, kind 1, wire version 1: name: a count of 5, of at least 1 bytes each, where 2 bytes are left",
                refusal(1, 1, 0, 0, 0, 5, 'c', 'a'));
        assertEquals("zoo, animal, kind 1, wire version 1: name: it is not UTF-8", refusal(1, 1, 0, 0, 0, 1, 0xff));
        assertEquals("zoo, animal, kind 1, wire version 2: colour: 8 is not between 0 and 7",
                refusal(2, 1, 0, 0, 0, 0, 8));
        assertEquals("zoo, animal, kind 1, wire version 2: colour: 1 bytes should follow, 0 are left",
                refusal(2, 1, 0, 0, 0, 0));
        assertEquals("zoo, animal, kind 1, wire version 1: 1 bytes follow its end", refusal(1, 1, 0, 0, 0, 0, 1));
        assertEquals("zoo, plant, kind 2, wire version 2: age: -1 is less than 0",
                refusal(2, 2, -1, -1, -1, -1, -1, -1, -1, -1));
    }

    @Test
    void aValueThatMayNotBeIsNotWrittenEither() {
        assertThrows(IllegalArgumentException.class, () -> new Plant(-1).bytes(2));
        assertThrows(IllegalArgumentException.class, () -> new Animal("cat", 8, 4).bytes(3));
        assertThrows(IllegalArgumentException.class, () -> new Animal("a name of many letters", 5, 4).bytes(3));
    }

    private record Nest(List<Versions> eggs, Map<Integer, String> names, Set<String> words) {
        static final Schema<Nest> SCHEMA = Schema.part("nest", Nest.class).of(
                Field.of("eggs", Types.list(Versions.SCHEMA, 3), Nest::eggs),
                Field.of("names", Types.map(Types.u8(0, 9), Types.text(9), 3), Nest::names),
                Field.of("words", Types.set(Types.text(9), 3), Nest::words), Nest::new);
    }

    @Test
    void partsAreReadAsTheyWereWritten() {
        Nest nest = new Nest(List.of(new Versions(1, 2), new Versions(3, 3)), Map.of(2, "b", 1, "a"),
                Set.of("y", "x"));
        ByteBuffer bytes = ByteBuffer.allocate(Nest.SCHEMA.size(nest));
        Nest.SCHEMA.write(nest, bytes);
        assertEquals(nest, Nest.SCHEMA.read(bytes.flip()));
        assertEquals("""
                nest
                  eggs:
                    - versions
                      oldest: 1
                      newest: 2
                    - versions
                      oldest: 3
                      newest: 3
                  names:
                    - 1 -> "a"
                    - 2 -> "b"
                  words:
                    - "x"
                    - "y\"""", Nest.SCHEMA.text(nest));
        assertEquals("eggs[1].newest: 0 is not between 1 and 255", assertThrows(DecodeException.class,
                () -> Nest.SCHEMA.read(bytes.put(7, (byte) 0).rewind())).getMessage());
    }

    @Test
    void versionsHaveANewestInCommonOrNone() {
        assertEquals(3, new Versions(1, 3).common(new Versions(2, 5)));
        assertEquals(2, new Versions(2, 2).common(new Versions(1, 3)));
        assertEquals(0, new Versions(1, 2).common(new Versions(3, 5)));
        assertThrows(IllegalArgumentException.class, () -> new Versions(2, 1));
    }

    @Test
    void aDeclarationThatContradictsItselfIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> new MessageSet<>("zoo", "", List.of(Animal.SCHEMA,
                Animal.SCHEMA)));
        assertThrows(IllegalArgumentException.class, () -> new MessageSet<>("zoo", "", List.of(Animal.SCHEMA, Schema
                .message("animal", 3, Animal.class, "").of(Field.of("name", Types.text(1), Animal::name),
                        name -> new Animal(name, 0, 0)))));
        assertThrows(IllegalArgumentException.class, () -> Schema.part("twice", Plant.class).of(
                Field.of("age", Types.NATURAL, Plant::age), Field.of("age", Types.NATURAL, Plant::age),
                (a, b) -> new Plant(a + b)));
        assertThrows(IllegalArgumentException.class, () -> Animal.SCHEMA.offset("colour"));
    }
}
