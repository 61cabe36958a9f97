package tutti.model;

/** Whatever transactions consist of. */
interface WorkSource {
    /** Decides which rows a transaction reads and writes, unless that has been decided. */
    void resolve(Work work);

    /** It has committed. */
    void committed(Work work);
}
