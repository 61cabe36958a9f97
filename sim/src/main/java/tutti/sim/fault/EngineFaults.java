package tutti.sim.fault;

import tutti.sim.kernel.Distribution;

/**
 * What faults ask of the simulated engines. Told in events of the kernel; each call replaces what was told of this host
 * before, and the last one of each kind takes it back (rate 0, no time). Whether the host is up does not matter: an engine
 * that boots while a fault lasts has it.
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
    };

    /** Each transaction that is executed by the engine of a host is aborted with this probability, as by a deadlock. */
    void abortRate(String host, double rate);

    /** Each commit of the engine of a host takes so much longer. */
    void commitDelay(String host, Distribution delay);
}
