package tutti.wire;

/**
 * How many clients a front end takes, of those that have proved who they are.
 *
 * @param all most clients at a time
 * @param reserved how many of these only superusers get; others have one at least
 * @param perAddress most clients of one address, superusers not counted against it; 0 for as many as there are
 */
public record Places(int all, int reserved, int perAddress) {
    /** Places for anybody. */
    public static Places of(int all) {
        return new Places(all, 0, 0);
    }

    /**
     * Why there is no place for a client, for people; nothing if there is one.
     *
     * @param taken places that are taken
     * @param ofAddress how many of these by clients of the same address
     */
    String refusal(boolean superuser, int taken, long ofAddress) {
        if (taken >= all) {
            return "sorry, too many clients already: the limit of this node is " + all;
        }
        if (superuser) {
            return "";
        }
        if (taken >= Math.max(1, all - reserved)) {
            return "remaining connection slots are reserved for roles with the SUPERUSER attribute: the limit of this node is "
                    + all + ", " + reserved + " of them reserved";
        }
        return perAddress > 0 && ofAddress >= perAddress
                ? "too many connections from this address: the limit of this node is " + perAddress
                : "";
    }
}
