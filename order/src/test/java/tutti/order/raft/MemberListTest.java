package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Group;
import tutti.order.raft.GroupChange.Step;

class MemberListTest {
    private static final Set<Integer> THREE = Set.of(0, 1, 2);
    private static final Set<Integer> FOUR = Set.of(0, 1, 2, 3);

    private static MemberList list(Map<Integer, String> members, Set<Integer> learners, Map<Integer, String> removed) {
        return new MemberList(new Group.Members(7, new TreeMap<>(members), learners, new TreeMap<>(removed)),
                "0=a:1,1=b:2,2=c:3", THREE);
    }

    private static VotingGroups.Group group(Set<Integer> members, Set<Integer> voters) {
        return new VotingGroups.Group(5, members, voters);
    }

    @Test
    void whoIsNewIsSentTheLogFirstAndVotesWhenItHasCaughtUp() {
        Map<Integer, String> four = Map.of(0, "a:1", 1, "b:2", 2, "c:3", 3, "d:4");
        MemberList catchesUp = list(four, Set.of(3), Map.of());
        assertEquals(Step.COMES, catchesUp.next(group(THREE, THREE), 3));
        assertNull(catchesUp.next(group(FOUR, THREE), 3));
        MemberList decides = list(four, Set.of(), Map.of());
        assertEquals(Step.VOTES, decides.next(group(FOUR, THREE), 3));
        assertNull(decides.next(group(FOUR, FOUR), 3));
        assertNull(decides.next(group(THREE, THREE), 0));
    }

    @Test
    void whoIsRemovedGoesAndIsConnectedUntilItHasGone() {
        MemberList without = list(Map.of(0, "a:1", 1, "b:2"), Set.of(), Map.of(2, "c:3"));
        assertEquals(Step.GOES, without.next(group(THREE, THREE), 2));
        assertNull(without.next(group(Set.of(0, 1), Set.of(0, 1)), 2));
        assertEquals(Set.of(1, 2), without.others(0, group(THREE, THREE)).keySet());
        assertEquals(Set.of(1), without.others(0, group(Set.of(0, 1), Set.of(0, 1))).keySet());
    }

    @Test
    void whoIsNotThereGoesFirstAndWhoIsThereLast() {
        MemberList list = list(Map.of(2, "c:3", 3, "d:4"), Set.of(), Map.of(0, "a:1", 1, "b:2"));
        VotingGroups.Group group = group(FOUR, THREE);
        assertEquals(Optional.of(1), list.first(group, Set.of(0, 2, 3)),
                "then two of three are a majority of those who are left");
        assertEquals(Optional.of(3), list.first(group, FOUR), "then four decide, not two");
        assertEquals(Optional.of(0), list.first(group(FOUR, FOUR), FOUR));
        assertEquals(Optional.empty(), list.first(group(Set.of(2, 3), Set.of(2, 3)), FOUR));
    }

    @Test
    void nobodyConnectsWhereNoAddressIs() {
        for (String wrong : new String[]{"host", ":7400", "host:port", "host:70000"}) {
            MemberList list = list(Map.of(0, "a:1", 1, "[::1]:7400", 2, wrong), Set.of(), Map.of(3, wrong));
            assertEquals(Map.of(1, InetSocketAddress.createUnresolved("[::1]", 7400)),
                    list.others(0, group(FOUR, THREE)),
                    wrong);
        }
    }
}
