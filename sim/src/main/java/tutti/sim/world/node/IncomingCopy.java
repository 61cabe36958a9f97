package tutti.sim.world.node;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.node.copy.CopyReceiver;
import tutti.node.copy.IncomingFiles;
import tutti.order.CopiedOrder;
import tutti.runtime.Directory;
import tutti.runtime.Machine;
import tutti.sim.kernel.Label;
import tutti.sim.machine.SimMachine;

/** What a node does before it begins, where nodes get copies: gets one if it must not begin with what it has, and puts it in place. */
final class IncomingCopy {
    /** What all nodes of a simulated world have the same. */
    static final String STATE = "the simulated world";
    private static final Label COPY = Label.of("node", "copy");

    private final NodeHost home;
    private final SimMachine machine;
    private final IncomingFiles files;
    private @Nullable CopyReceiver receiver;
    private boolean wanted;
    private boolean over;

    IncomingCopy(NodeHost home, SimMachine machine, List<String> parts) {
        this.home = home;
        this.machine = machine;
        files = new IncomingFiles(machine.directory(), parts, NodeHost.ORDER);
    }

    /** Looks whether a copy is wanted, and gets it. */
    void begin() {
        inBackground(() -> {
            if (!files.isWanted()) {
                then(() -> home.copied(this, false));
            } else if (files.isWhole()) {
                then(this::install);
            } else {
                long number = files.number();
                Directory into = files.emptied();
                then(() -> receive(number, into));
            }
        });
    }

    /** From now on the node does not begin without one. */
    void want() {
        wanted = true;
        inBackground(() -> {
            files.want(machine.random("copied order directory").nextLong());
            then(this::begin);
        });
    }

    private void inBackground(Machine.Work work) {
        machine.background("incoming copy", () -> {
            try {
                work.run();
            } catch (IOException | RuntimeException cannot) {
                then(() -> home.notCopied(this, cannot));
            }
        });
    }

    /** When the files of what runs now are written. */
    private void then(Runnable next) {
        machine.loop("incoming copy", home::broken).execute(() -> {
            if (!over) {
                next.run();
            }
        });
    }

    private void receive(long number, Directory into) {
        wanted = true;
        List<CopyReceiver.Donor> donors = new ArrayList<>();
        home.donors().forEach((node, address) -> donors.add(new CopyReceiver.Donor(node, address)));
        receiver = new CopyReceiver(
                new CopyReceiver.Wanted(home.node(), number, STATE, Set.copyOf(NodeHost.COPY_PARTS), "",
                        CopiedOrder.VISIT),
                machine, into, donors, new Completion<>() {
                    @Override
                    public void succeeded(Void nothing) {
                        received(IncomingCopy.this::install);
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        received(() -> home.notCopied(IncomingCopy.this, new IOException(failure.message())));
                    }
                });
    }

    /** Somewhat later, since the receiver is not closed by its own loop. */
    private void received(Runnable next) {
        home.host().after(0, COPY, () -> {
            if (!over) {
                closeReceiver();
                next.run();
            }
        });
    }

    private void install() {
        inBackground(() -> {
            files.install((directory, number) -> home.adopt(machine, directory, number));
            then(() -> home.copied(this, true));
        });
    }

    private void closeReceiver() {
        CopyReceiver now = receiver;
        receiver = null;
        if (now != null) {
            now.close();
        }
    }

    /** Nobody waits for it any more. */
    void close() {
        over = true;
        closeReceiver();
    }

    /** Whether the node cannot begin without one. */
    boolean isWanted() {
        return wanted;
    }

    @Override
    public String toString() {
        CopyReceiver now = receiver;
        return wanted ? "awaits a copy, has " + (now == null ? 0 : now.bytes()) + " bytes" : "looks for a copy";
    }
}
