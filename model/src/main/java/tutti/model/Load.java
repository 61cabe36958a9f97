package tutti.model;

/** Whoever has transactions done in a run. */
interface Load {
    /** Begins. */
    void start();
}
