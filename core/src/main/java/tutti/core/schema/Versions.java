package tutti.core.schema;

/**
 * Versions of the wire schema that somebody speaks, without a gap.
 *
 * @param oldest 1 and up
 * @param newest at least {@code oldest}, at most 255
 */
public record Versions(int oldest, int newest) {
    /** Those that this build writes and reads. */
    public static final Versions SPOKEN = new Versions(1, 1);

    /** Of messages by which nodes of all releases tell each other what they speak: these never change. */
    public static final Versions FOREVER = new Versions(1, 1);

    /** As a part of a message. */
    public static final Schema<Versions> SCHEMA = Schema.part("versions", Versions.class).of(
            Field.of("oldest", Types.u8(1, 255), Versions::oldest),
            Field.of("newest", Types.u8(1, 255), Versions::newest), Versions::new);

    public Versions {
        if (oldest < 1 || newest < oldest || newest > 255) {
            throw new IllegalArgumentException("versions from " + oldest + " to " + newest);
        }
    }

    /** Whether it is one of them. */
    public boolean has(int version) {
        return version >= oldest && version <= newest;
    }

    /** The newest that both speak; 0 if there is none. */
    public int common(Versions other) {
        int best = Math.min(newest, other.newest);
        return has(best) && other.has(best) ? best : 0;
    }

    @Override
    public String toString() {
        return oldest == newest ? "wire version " + oldest : "wire versions " + oldest + " to " + newest;
    }
}
