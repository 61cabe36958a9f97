package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class CommitAdmissionTest {
    private final CommitAdmission admission = new CommitAdmission(1);
    private final List<String> turns = new ArrayList<>();

    @Test
    void whoeverWaitsHasItsTurnWhenAnotherLeaves() {
        admission.enter();
        assertTrue(admission.isFull());
        admission.await(() -> {
            turns.add("second");
            admission.enter();
        });
        admission.await(() -> turns.add("third"));
        admission.leave();
        assertEquals(List.of("second"), turns);
        assertEquals(1, admission.inFlight());
    }

    @Test
    void aTurnThatIsNotTakenGoesToTheNext() {
        admission.enter();
        admission.await(() -> turns.add("rolled back meanwhile"));
        admission.await(() -> {
            turns.add("commits");
            admission.enter();
        });
        admission.leave();
        assertEquals(List.of("rolled back meanwhile", "commits"), turns);
    }

    @Test
    void itIsIdleWhenNobodyIsLeft() {
        CompletableFuture<Void> atOnce = new CompletableFuture<>();
        admission.whenIdle(atOnce);
        assertTrue(atOnce.isDone());
        admission.enter();
        CompletableFuture<Void> later = new CompletableFuture<>();
        admission.whenIdle(later);
        admission.await(admission::enter);
        admission.leave();
        assertFalse(later.isDone(), "the next one has its turn");
        admission.leave();
        assertTrue(later.isDone());
    }
}
