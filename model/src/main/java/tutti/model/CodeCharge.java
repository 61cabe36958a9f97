package tutti.model;

/** Runs real code, and says how much processor time it is charged (D5.1 section 2.1.3). */
interface CodeCharge {
    /**
     * Runs an event of a protocol.
     *
     * @return nanoseconds on a core of the simulated host, at least 0
     */
    long run(ModelReplica.Charge by, int bytes, Runnable event);

    /** By a model: exact, and the same in every run. */
    static CodeCharge byModel(Calibration.Code code, double speed) {
        return (by, bytes, event) -> {
            event.run();
            return switch (by) {
                case MESSAGE -> (long) ((code.messageNanos() + bytes * code.byteNanos()) / speed);
                case EVENT -> (long) (code.eventNanos() / speed);
                case FREE -> 0;
            };
        };
    }

    /** As measured while it runs: the elapsed time of this machine, so no two runs are the same. */
    static CodeCharge measured(Costs costs, double factor) {
        return (by, bytes, event) -> {
            long before = System.nanoTime();
            event.run();
            long nanos = (long) ((System.nanoTime() - before) * factor);
            costs.add(nanos);
            return nanos;
        };
    }

    /** As another run measured: exact again, as long as the same events happen. */
    static CodeCharge replayed(Costs costs) {
        return (by, bytes, event) -> {
            event.run();
            return costs.next();
        };
    }
}
