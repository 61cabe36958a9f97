package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Whose logs are whose when replicas come and go: at a position, and with nothing lost or done twice. */
class HybridMembersTest extends HybridSites {
    private void members(Integer... now) {
        position++;
        for (Site site : sites) {
            if (site.up) {
                site.protocol.members(position, Set.of(now));
                site.protocol.committed(position, 0);
            }
        }
    }

    /** One that has got a copy, and is no member that decides yet. */
    private void comes() {
        Site fourth = new Site(3, 2);
        fourth.protocol.restore(sites.get(0).protocol.snapshot());
        fourth.protocol.committed(position, 0);
        sites.add(fourth);
    }

    @Test
    void whoGoesLeavesItsLogsToOthersWhoGoOnWhereItStopped() {
        submit(1, 2L);
        submit(2, 2L);
        submit(3, 2L);
        assertEquals(List.of("undertake 1"), told(2));
        undertaken(2, 1, "old");
        deliver();
        assertEquals(List.of("commit 1", "committed 1", "undertake 2 and 1 others"), told(2));
        told(0);
        sites.get(2).up = false;
        members(0, 1);
        assertEquals(List.of("undertake 2 and 1 others"), told(0), "at once, and not what had an outcome");
        undertaken(0, 2, 2, "rest");
        deliver();
        assertTrue(told(0).containsAll(List.of("commit 2", "with 3", "committed 2")));
        assertTrue(told(1).containsAll(List.of("apply 1 old", "apply 2 rest", "committed 3")));
    }

    @Test
    void whoComesOwnsItsShareFromWhereAllKnowThatItHasCaughtUp() {
        divided(Map.of("logs", "8"));
        comes();
        submit(1, 3L);
        assertEquals(List.of("undertake 1"), told(0), "it decides nothing yet");
        submit(2, 3L);
        members(0, 1, 2, 3);
        assertEquals(List.of("undertake 1 and 1 others"), told(3));
        undertaken(3, 1, 2, "new");
        undertaken(0, 1, "old");
        deliver();
        List<String> former = told(0);
        assertTrue(former.containsAll(List.of("abort 1", "apply 1 new")), "of two outcomes the first counts");
        assertTrue(former.stream().noneMatch(each -> each.startsWith("commit ")), former::toString);
        submit(3, 0L);
        submit(4, 5L);
        assertEquals(List.of("undertake 3"), told(0));
        assertEquals(List.of("undertake 4"), told(1).stream().filter(each -> each.startsWith("undertake")).toList());
    }

    @Test
    void whoDoesNotDecideYetTakesNothingOver() {
        divided(Map.of("logs", "8"));
        comes();
        for (Site site : sites) {
            site.protocol.view(Set.of(0, 1, 3));
            site.protocol.timer(2);
        }
        assertEquals(List.of(0, 1), order.stream().map(Ordered::sender).sorted().toList());
        deliver();
        submit(1, 2L);
        submit(2, 5L);
        assertEquals(List.of(), told(3));
        assertEquals(2, told(0).size() + told(1).size(), "each by one");
    }

    @Test
    void aClaimFromBeforeIsVoidForLogsThatHaveAnotherHome() {
        sites.get(1).protocol.view(Set.of(1));
        sites.get(1).protocol.timer(2);
        Ordered claim = order.remove();
        members(0, 1);
        order.add(claim);
        deliver();
        submit(1, 2L);
        assertEquals(List.of("undertake 1"), told(0));
        submit(2, 0L);
        assertEquals(List.of("undertake 2"), told(1), "its home is what it was, so that claim counts");
    }

    @Test
    void whoIsNamedAsAnOwnerIsStruckWhenItGoes() {
        divided(Map.of("owners", "2,1,2"));
        comes();
        members(0, 1, 2, 3);
        submit(1, 0L);
        assertEquals(List.of("undertake 1"), told(2), "owners that are named stay");
        sites.get(2).up = false;
        members(0, 1, 3);
        OrderedParameters now = sites.get(0).protocol.ordered();
        assertEquals(new OrderedParameters(position, Map.of("execution", "hybrid", "logs", "3", "owners", "1")), now);
        assertTrue(told(1).contains("undertake 1"));
        Site again = new Site(1, 2);
        again.protocol.restore(sites.get(3).protocol.snapshot());
        assertEquals(now, again.protocol.ordered());
        members(0, 3);
        assertEquals("in-turn", sites.get(0).protocol.ordered().values().get("owners"), "nobody is left of those");
        assertTrue(told(0).contains("undertake 1"));
    }

    @Test
    void whoBeginsWithASnapshotKnowsTheMembersOfIt() {
        divided(Map.of("logs", "8"));
        members(0, 1);
        comes();
        sites.get(2).up = false;
        members(0, 1, 3);
        told(0);
        for (long log = 0; log < 8; log++) {
            submit(10 + log, log);
        }
        List<List<String>> undertaken = List.of(told(0), told(1), told(3));
        assertEquals(6, undertaken.stream().mapToInt(List::size).sum(), "two executors each, no request twice");
        assertEquals(List.of("undertake 12", "undertake 15"), undertaken.get(2));
        assertArrayEquals(sites.get(0).protocol.snapshot(), sites.get(3).protocol.snapshot(),
                "all know the same owners");
    }

    @Test
    void theOneOwnerOfAllStaysWhenOthersCome() {
        divided(Map.of("execution", "passive"));
        sites.get(1).protocol.view(Set.of(1, 2));
        sites.get(1).protocol.timer(2);
        deliver();
        comes();
        members(0, 1, 2, 3);
        submit(1, 2L);
        assertEquals(List.of("undertake 1"), told(1));
        sites.get(1).up = false;
        members(0, 2, 3);
        assertEquals(List.of("undertake 1"), told(0));
    }
}
