package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import tutti.core.schema.Catalogue;
import tutti.core.schema.FormatPage;
import tutti.core.schema.MessageSet;

class FormatPageTest {
    @Test
    void thePageSaysWhatTheDeclarationsSay() throws Exception {
        List<MessageSet<?>> sets = new ArrayList<>();
        ServiceLoader.load(Catalogue.class).forEach(room -> sets.addAll(room.sets()));
        List<String> names = sets.stream().map(MessageSet::name).toList();
        assertTrue(names.containsAll(List.of("si", "ordered payloads", "raft messages", "group packets")),
                "rooms are missing: " + names);
        Path page = Path.of("..", "docs", "wire-format.md");
        if (Boolean.getBoolean("tutti.write-manual")) {
            Files.writeString(page, FormatPage.of(sets));
        }
        assertEquals(FormatPage.of(sets), Files.readString(page), "docs/wire-format.md is out of date:"
                + " mvn -pl cli -am verify -Dtest=FormatPageTest -Dsurefire.failIfNoSpecifiedTests=false"
                + " -Dtutti.write-manual=true renews it");
    }
}
