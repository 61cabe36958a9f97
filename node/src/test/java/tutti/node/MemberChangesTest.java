package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Group;

class MemberChangesTest extends ReplicaTrio {
    private EngineFailure refusal(int node, ReplicaNode.MemberChange change) {
        AtomicReference<@Nullable EngineFailure> refusal = new AtomicReference<>();
        nodes.get(node).change(change, new Completion<>() {
            @Override
            public void succeeded(Group.Members now) {
                throw new AssertionError("changed to " + now);
            }

            @Override
            public void failed(EngineFailure failure) {
                refusal.set(failure);
            }
        });
        await(() -> refusal.get() != null);
        return Objects.requireNonNull(refusal.get());
    }

    @Test
    void aProtocolWhoseMembersDecideKeepsThem() throws IOException {
        openAll("passive");
        EngineFailure refusal = refusal(0, new ReplicaNode.MemberChange.Add(3, "host:7400"));
        assertEquals("0A000", refusal.sqlState());
        assertTrue(refusal.message().startsWith("under protocol passive the members stay the same"), refusal::message);
    }

    @Test
    void anOrderThatCannotChangeThemKeepsThem() throws IOException {
        openAll("si");
        EngineFailure refusal = refusal(1, new ReplicaNode.MemberChange.Remove(2));
        assertEquals("0A000", refusal.sqlState());
        assertTrue(refusal.message().contains("an order of this kind"), refusal::message);
    }
}
