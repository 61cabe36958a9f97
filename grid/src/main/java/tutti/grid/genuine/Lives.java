package tutti.grid.genuine;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;

/**
 * Which life of each member of a group takes part in a ballot: a node that has crashed and is started anew has lost what it had, and is another one. Immutable.
 *
 * @param all by the member's place in its group
 */
public record Lives(List<Life> all) {
    static final Type<List<Life>> LIST = Types.list(Life.SCHEMA, Groups.GROUPS_MAX);

    /**
     * A life of a member.
     *
     * @param ballot in which somebody wanted to take it in, so no two lives of a member have the same; 0 of the first one
     * @param process of the node; 0 of the first life, whichever process that is
     */
    public record Life(long ballot, long process) {
        static final Life FIRST = new Life(0, 0);
        static final Schema<Life> SCHEMA = Schema.part("life of a member", Life.class).of(
                Field.of("ballot", Types.NATURAL, Life::ballot), Field.of("process", Types.LONG, Life::process),
                Life::new);
    }

    /** Keeps a copy. */
    public Lives {
        all = List.copyOf(all);
    }

    /** The first life of each of so many members. */
    static Lives first(int members) {
        return new Lives(Collections.nCopies(members, Life.FIRST));
    }

    Life of(int place) {
        return all.get(place);
    }

    Lives with(int place, Life life) {
        List<Life> changed = new ArrayList<>(all);
        changed.set(place, life);
        return new Lives(changed);
    }

    /** Of each member the later life. */
    Lives latest(Lives other) {
        List<Life> latest = new ArrayList<>(all);
        for (int place = 0; place < latest.size(); place++) {
            if (other.of(place).ballot > latest.get(place).ballot) {
                latest.set(place, other.of(place));
            }
        }
        return new Lives(latest);
    }
}
