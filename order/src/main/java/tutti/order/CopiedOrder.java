package tutti.order;

import java.io.IOException;
import java.util.function.Consumer;
import tutti.runtime.Directory;
import tutti.runtime.Loop;
import tutti.runtime.Network;

/**
 * An order of which a node can be given a copy to begin with. Other nodes ask for that on connections to the order's own address,
 * with the order's own proof of who they are. Methods may be called from any thread.
 */
public interface CopiedOrder {
    /** With what a connection begins whose other end comes for a copy: eight bytes, "TuttiCop". */
    long VISIT = 0x5475_7474_6943_6f70L;

    /** The loop to which the order's connections belong. */
    Loop loop();

    /**
     * Names who listens to those who connect with {@link #VISIT}, from behind that on. Before, they are dropped. Those who connect
     * have proven to be members, where that is asked for.
     */
    void visitors(Network.Acceptor acceptor);

    /**
     * Takes what a node needs to begin behind a position, as of now.
     *
     * @param after position that was delivered here, and is not forgotten before the copy has been written
     * @param taken told, on the order's loop
     */
    void copy(long after, Consumer<Copy> taken);

    /** A copy that has been taken. */
    interface Copy {
        /**
         * Writes it down, for {@link OrderDescriptor#adopt} at its receiver. Blocks.
         *
         * @param into an empty directory
         * @throws IOException if that cannot be
         */
        void write(Directory into) throws IOException;
    }
}
