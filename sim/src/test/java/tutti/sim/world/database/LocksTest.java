package tutti.sim.world.database;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

class LocksTest {
    private static final long KEY = 1;

    private final Queue<Runnable> later = new ArrayDeque<>();
    private final Locks locks = new Locks(later::add);
    private final List<String> granted = new ArrayList<>();

    /** A client's transaction. */
    private static final class Client extends Locks.Owner {
        @Override
        boolean refusable() {
            return true;
        }

        @Override
        boolean kept() {
            return true;
        }
    }

    private Locks.Result acquire(Client owner, String name) {
        return locks.acquire(owner, KEY, Locks.Mode.EXCLUSIVE, () -> granted.add(name));
    }

    private void settle() {
        for (Runnable next = later.poll(); next != null; next = later.poll()) {
            next.run();
        }
    }

    @Test
    void whoeverWaitsIsGrantedALockWhenItIsReleased() {
        Client first = new Client();
        assertEquals(Locks.Result.GRANTED, acquire(first, "first"));
        assertEquals(Locks.Result.WAITS, acquire(new Client(), "second"));
        locks.release(first);
        settle();
        assertEquals(List.of("second"), granted);
    }

    @Test
    void whatWasHeldWhenTheServerDiedIsNotGrantedInItsNextLife() {
        Client first = new Client();
        acquire(first, "first");
        acquire(new Client(), "second");
        locks.forget();
        locks.release(first);
        settle();
        assertEquals(List.of(), granted);
        assertEquals(Locks.Result.GRANTED, acquire(new Client(), "third"));
    }
}
