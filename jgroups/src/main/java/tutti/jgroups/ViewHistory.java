package tutti.jgroups;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jgroups.Address;
import org.jgroups.View;
import org.jspecify.annotations.Nullable;
import tutti.jgroups.ViewMessages.Earlier;
import tutti.jgroups.ViewMessages.Numbers;
import tutti.jgroups.ViewMessages.Report;

/** What a member knows of views: the last one that it uses, with the numbers of its members, and which later ones others may use. One thread. */
final class ViewHistory {
    /** The number of who has none. */
    static final int NONE = -1;

    private final Address self;
    private @Nullable View used;
    private Map<Address, Integer> numbers = Map.of();
    private Map<Integer, Address> addresses = Map.of();
    private int given;
    /** Views after it that may be used elsewhere, by their numbers. */
    private final Map<Long, View> tried = new TreeMap<>();

    /**
     * What has changed with a view that is used now.
     *
     * @param isAnew whether this member has another number: what it kept is of no use
     * @param isLess whether members are gone
     * @param stayed the numbers of those that stay
     */
    record Change(boolean isAnew, boolean isLess, Set<Integer> stayed) {}

    ViewHistory(Address self) {
        this.self = self;
    }

    /** The last view that is used here, if any. */
    @Nullable
    View used() {
        return used;
    }

    /** Members of that view, with their numbers. */
    Map<Address, Integer> numbers() {
        return numbers;
    }

    /** Its members by their numbers. */
    Map<Integer, Address> addresses() {
        return addresses;
    }

    /** This member's number, or {@link #NONE}. */
    int own() {
        return numbers.getOrDefault(self, NONE);
    }

    /**
     * What a view's coordinator must know, which others may use from now on.
     *
     * @param leftOut whether this member lacks messages of a later view that others use, so that its number does not stand for what it keeps
     * @param clean whether nothing is kept in which others take part than members of the view that is used
     */
    Report report(View view, boolean leftOut, boolean clean) {
        List<Earlier> may = tried.values().stream().map(earlier -> seenFrom(view, earlier)).toList();
        tried.put(view.getViewId().getId(), view);
        View last = used;
        Earlier earlier = last == null ? new Earlier(0, 0, false, new int[0]) : seenFrom(view, last);
        Set<Integer> known = new LinkedHashSet<>();
        for (int place : earlier.places()) {
            known.add(numbers.getOrDefault(view.getMembersRaw()[place], NONE));
        }
        known.addAll(addresses.keySet());
        return new Report(leftOut ? NONE : own(), given, clean, earlier,
                known.stream().mapToInt(Integer::intValue).toArray(), may);
    }

    private static Earlier seenFrom(View view, View earlier) {
        List<Address> members = view.getMembers();
        int[] places = earlier.getMembers().stream().mapToInt(members::indexOf).filter(place -> place >= 0).toArray();
        return new Earlier(earlier.getViewId().getId(), earlier.size(), members.contains(earlier.getCoord()), places);
    }

    /** Nobody will use a view. */
    void refused(View view) {
        tried.remove(view.getViewId().getId());
    }

    /** A view is used from now on. */
    Change use(View view, Numbers all) {
        Map<Address, Integer> next = new LinkedHashMap<>();
        Map<Integer, Address> members = new HashMap<>();
        for (int i = 0; i < view.size(); i++) {
            next.put(view.getMembersRaw()[i], all.numbers()[i]);
            members.put(all.numbers()[i], view.getMembersRaw()[i]);
        }
        Set<Integer> stayed = new TreeSet<>();
        numbers.forEach((member, number) -> {
            if (number.equals(next.get(member))) {
                stayed.add(number);
            }
        });
        boolean isLess = stayed.size() < numbers.size();
        boolean isAnew = !stayed.contains(own());
        numbers = next;
        addresses = members;
        given = all.given();
        used = view;
        tried.keySet().removeIf(number -> number <= view.getViewId().getId());
        return new Change(isAnew, isLess, stayed);
    }

    @Override
    public String toString() {
        return used + " with numbers " + numbers + ", maybe used " + tried.values();
    }
}
