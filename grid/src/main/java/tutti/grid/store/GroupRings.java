package tutti.grid.store;

import org.jspecify.annotations.Nullable;

/** Which group owns which key in a {@link GroupLayout}. Immutable. */
public final class GroupRings {
    private final GroupLayout layout;
    private final Ring owning;
    private final Ring next;

    /** @param before of the layout before, whose rings are used again as far as they are the same; null if there is none */
    GroupRings(GroupLayout layout, @Nullable GroupRings before) {
        this.layout = layout;
        if (before != null && before.layout.next().equals(layout.owning())) {
            owning = before.next;
        } else {
            owning = new Ring(layout.owning(), 1);
        }
        if (before != null && before.layout.next().equals(layout.next())) {
            next = before.next;
        } else {
            next = layout.isMoving() ? new Ring(layout.next(), 1) : owning;
        }
    }

    /** The layout. */
    public GroupLayout layout() {
        return layout;
    }

    /** The group of a key: its members answer for it. */
    public int groupOf(Key key) {
        return owning.owners(key.hash(), 1)[0];
    }

    /** The group that a key will have; the same if it is not moved. */
    public int nextOf(Key key) {
        return next.owners(key.hash(), 1)[0];
    }

    /** Whether a group must be told what is written to a key. */
    public boolean isWriter(int group, Key key) {
        return groupOf(key) == group || nextOf(key) == group;
    }

    /** Whether a key has the same group, and will have the same one, in another layout. */
    public boolean isSame(Key key, GroupRings other) {
        return groupOf(key) == other.groupOf(key) && nextOf(key) == other.nextOf(key);
    }
}
