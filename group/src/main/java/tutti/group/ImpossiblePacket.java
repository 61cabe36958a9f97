package tutti.group;

/**
 * A packet that can be read, but that no correct member could have sent as things are. It is left out: whoever throws this has changed
 * nothing by it but what other members can undo.
 */
final class ImpossiblePacket extends RuntimeException {
    private static final long serialVersionUID = 1;

    ImpossiblePacket(String why) {
        super(why, null, false, false);
    }

    /** Refuses what does not hold. */
    static void unless(boolean holds, String why) {
        if (!holds) {
            throw new ImpossiblePacket(why);
        }
    }
}
