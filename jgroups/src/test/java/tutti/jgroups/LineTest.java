package tutti.jgroups;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LineTest {
    @Test
    void whatComesBehindOneThatFailsIsDoneHoweverThatFails() {
        List<String> done = new ArrayList<>();
        Line line = new Line(failed -> done.add(String.valueOf(failed.getMessage())));
        line.add(() -> {
            throw new AssertionError("an error");
        });
        line.add(() -> {
            throw new IllegalStateException("an exception");
        });
        line.add(() -> done.add("the third"));
        line.work();
        line.add(() -> done.add("the fourth"));
        line.work();
        assertEquals(List.of("an error", "an exception", "the third", "the fourth"), done);
    }
}
