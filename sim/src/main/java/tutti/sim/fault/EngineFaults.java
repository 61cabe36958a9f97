package tutti.sim.fault;

import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.RandomStream;

/**
 * What faults ask of the simulated engines, and of those who use them. Told in events of the kernel. What lasts is set by a call that replaces what was told of
 * this host before, and the last one of each kind takes it back (rate 0, no time, false). Whether the host is up does not
 * matter: an engine that boots while a fault lasts has it.
 */
public interface EngineFaults {
    /** For simulations without engines: nothing happens. */
    EngineFaults NONE = new EngineFaults() {
        @Override
        public void abortRate(String host, double rate) {
            // There is no engine whose transactions could be aborted.
        }

        @Override
        public void commitDelay(String host, Distribution delay) {
            // There is no engine whose commits could be delayed.
        }

        @Override
        public void refuses(String host, double rate) {
            // There is no engine that could refuse anything.
        }

        @Override
        public void full(String host, boolean full) {
            // There is no engine that could need room.
        }

        @Override
        public void ownRows(String host, double rate) {
            // There is no engine that could refuse anything.
        }

        @Override
        public void hangs(String host, boolean hangs) {
            // There is no engine that could hang.
        }

        @Override
        public void down(String host, boolean down) {
            // There is no engine that could be down.
        }

        @Override
        public void backToCheckpoint(String host) {
            // There is no engine that could die.
        }

        @Override
        public void lostSight(String host, boolean lost) {
            // There is no client.
        }

        @Override
        public Change change(Action.OfMembers wanted) {
            return UNCHANGED;
        }

        @Override
        public Change changeParameters(RandomStream random) {
            return UNCHANGED;
        }

        @Override
        public long happened(String host, FaultKind kind) {
            return 0;
        }
    };

    /** Of a simulation without a cluster. */
    Change UNCHANGED = new Change() {
        @Override
        public void giveUp() {
            // There is no cluster.
        }

        @Override
        public long made() {
            return 0;
        }
    };

    /** A change of the cluster that somebody asks for. */
    interface Change {
        /** He does not begin with it any more. */
        void giveUp();

        /** How many steps of it have been made. */
        long made();
    }

    /** Each transaction that is executed by the engine of a host is aborted with this probability, as by a deadlock. */
    void abortRate(String host, double rate);

    /** Each commit of the engine of a host takes so much longer. */
    void commitDelay(String host, Distribution delay);

    /**
     * Each transaction's effects cannot be made by the engine of a host with this probability, and never by two hosts; the
     * same ones each time.
     */
    void refuses(String host, double rate);

    /** The engine of a host has no room to apply anything. */
    void full(String host, boolean full);

    /** Each transaction's changes that a host has executed no other host can make with this probability; the same ones each time. */
    void ownRows(String host, double rate);

    /** The engine of a host does nothing; when that is over it goes on with all that it was asked for. */
    void hangs(String host, boolean hangs);

    /** The server of a host's engine dies, and refuses connections until that is over. */
    void down(String host, boolean down);

    /** The server of a host's engine dies, and comes back with what it held at an older checkpoint. */
    void backToCheckpoint(String host);

    /** Clients lose sight of a host soon after it has begun to commit for them; those for whom it commits already, too. */
    void lostSight(String host, boolean lost);

    /** Somebody asks nodes for a change of the members, again and again until it is made or given up. */
    Change change(Action.OfMembers wanted);

    /**
     * Somebody asks nodes for other parameters of their protocol, again and again until he gives up.
     *
     * @param random by which he chooses them
     */
    Change changeParameters(RandomStream random);

    /** How often faults of a kind have done something to the engine of a host so far. */
    long happened(String host, FaultKind kind);
}
