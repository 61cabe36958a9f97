package tutti.jgroups;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.jgroups.Address;
import org.jgroups.View;
import org.jgroups.util.UUID;
import org.junit.jupiter.api.Test;
import tutti.jgroups.ViewMessages.Numbers;
import tutti.jgroups.ViewMessages.Report;

/** However a group divides, and whoever of it hears what: the views that are used follow each other. */
class ViewHistoryTest {
    private static final int MEMBERS = 6;
    private static final int STEPS = 60;

    private final Map<Address, ViewHistory> members = new LinkedHashMap<>();
    /** What is used, by its number; the numbers of its members. */
    private final TreeMap<Long, View> usedViews = new TreeMap<>();
    private final Map<Address, Map<Integer, Address>> meant = new HashMap<>();
    private final Map<View, Numbers> numbersOf = new HashMap<>();

    private static Address address(long n) {
        return new UUID(7, n);
    }

    /** A view is proposed to some, of whom some report, and is used by some of them if all have reported. */
    private void step(Random random, long number, List<Address> of) {
        View view = View.create(of.getFirst(), number, of);
        List<Report> reports = new ArrayList<>();
        for (Address member : of) {
            if (random.nextInt(12) == 0) {
                return;
            }
            reports.add(members.get(member).report(view, false, random.nextBoolean()));
        }
        ViewMessages decided = Numbering.of(reports, true);
        for (Address member : of) {
            if (decided instanceof Numbers all && random.nextInt(3) > 0) {
                use(member, view, all);
                View before = usedViews.put(number, view);
                assertTrue(before == null || before.equals(view), () -> before + " and " + view);
                numbersOf.put(view, all);
            } else if (decided instanceof ViewMessages.Refused && random.nextBoolean()) {
                members.get(member).refused(view);
            }
        }
    }

    /** As long as a member need not begin anew, each number means the same member to it. */
    private void use(Address member, View view, Numbers all) {
        ViewHistory history = members.get(member);
        Map<Integer, Address> known = meant.computeIfAbsent(member, _ -> new HashMap<>());
        if (history.use(view, all).isAnew()) {
            known.clear();
        }
        history.addresses().forEach((number, other) -> {
            Address before = known.put(number, other);
            assertTrue(before == null || before.equals(other), () -> number + " is " + other + ", was " + before);
        });
    }

    @Test
    void usedViewsHaveMembersInCommonAndNumbersAreNotGivenTwice() {
        int used = 0;
        int refused = 0;
        for (int seed = 0; seed < 300; seed++) {
            members.clear();
            usedViews.clear();
            numbersOf.clear();
            meant.clear();
            Random random = new Random(seed);
            for (int i = 0; i < MEMBERS; i++) {
                members.put(address(i), new ViewHistory(address(i)));
            }
            List<Address> everybody = new ArrayList<>(members.keySet());
            everyoneUses(View.create(everybody.getFirst(), 1, everybody));
            long number = 1;
            for (int step = 0; step < STEPS; step++) {
                List<Address> mixed = new ArrayList<>(everybody);
                Collections.shuffle(mixed, random);
                int cut = random.nextInt(MEMBERS + 1);
                number += 1 + random.nextInt(2);
                for (List<Address> part : List.of(mixed.subList(0, cut), mixed.subList(cut, MEMBERS))) {
                    if (!part.isEmpty()) {
                        step(random, number, List.copyOf(part));
                    }
                }
            }
            check();
            used += usedViews.size();
            refused += STEPS - usedViews.size();
        }
        assertTrue(used > 3000 && refused > 3000, used + " used, " + refused + " not");
    }

    private void everyoneUses(View view) {
        List<Report> reports = view.getMembers().stream().map(member -> members.get(member).report(view, false, true))
                .toList();
        Numbers all = (Numbers) Numbering.of(reports, true);
        view.getMembers().forEach(member -> members.get(member).use(view, all));
        usedViews.put(view.getViewId().getId(), view);
        numbersOf.put(view, all);
    }

    private void check() {
        View before = null;
        for (View view : usedViews.values()) {
            if (before != null) {
                Set<Address> common = new HashSet<>(before.getMembers());
                common.retainAll(view.getMembers());
                boolean enough = 2 * common.size() > before.size()
                        || (2 * common.size() == before.size() && common.contains(before.getCoord()));
                assertTrue(enough, before + " and then " + view);
            }
            Set<Integer> numbers = new HashSet<>();
            for (int number : numbersOf.get(view).numbers()) {
                assertTrue(numbers.add(number), "different members have different numbers");
            }
            before = view;
        }
    }

    @Test
    void aNumberIsGivenAgainOnlyWhenNothingIsKeptOfWhoHadIt() {
        Address first = address(0);
        members.put(first, new ViewHistory(first));
        everyoneUses(View.create(first, 1, first));
        for (int i = 1; i < 256; i++) {
            Address next = address(i);
            members.put(next, new ViewHistory(next));
            everyoneUses(View.create(first, 1 + i, first, next));
            assertEquals(i, members.get(next).own());
        }
        Address next = address(256);
        View view = View.create(first, 1000, first, next);
        ViewHistory fresh = new ViewHistory(next);
        assertEquals(Numbering.LATER,
                Numbering.of(List.of(members.get(first).report(view, false, false), fresh.report(view, false, true)),
                        true));
        Numbers all = (Numbers) Numbering
                .of(List.of(members.get(first).report(view, false, true), fresh.report(view, false, true)), true);
        assertEquals(List.of(0, 1), List.of(all.numbers()[0], all.numbers()[1]), "0 is still the first's");
    }
}
