package tutti.jgroups;

import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import tutti.grid.multicast.LamportClock;
import tutti.jgroups.ViewMessages.Again;
import tutti.jgroups.ViewMessages.Earlier;
import tutti.jgroups.ViewMessages.Numbers;
import tutti.jgroups.ViewMessages.Refused;
import tutti.jgroups.ViewMessages.Report;

/**
 * What the coordinator of a view makes of the reports of all its members. The multicast wants one sequence of views, from which members go
 * for good; JGroups gives views that divide and merge, and of which members may miss some.
 *
 * <p>
 * <b>One sequence.</b> A view is used only with more than half of the one that was used last, or half of it with its first member. Who has
 * used which is not known to all: therefore every member keeps, before anybody uses a view, that it may be in use, and says so in its next
 * report. A view needs the same of each that may be in use after the last one that is known to be. So of two views that might follow the
 * same one, at most one is used: members of both know of the one that was tried first (dynamic voting; Yeger-Lotem, Keidar and Dolev,
 * Dynamic Voting for Consistent Primary Components, 1997). Without {@code majority} this is left out, and parts of a divided group go on
 * by themselves.
 *
 * <p>
 * <b>Who stays, and who comes.</b> Of the last view that is used, as the report with the highest number tells it, those stay that are in
 * this one. All others are new, under numbers that nobody had; also who was there before a partition, or in another part that was used:
 * what such a member has kept is no part of the others' history, so it begins anew.
 */
final class Numbering {
    /** The coordinator must ask again: all numbers were given once, and messages of who had one before are still kept. */
    static final Again LATER = new Again();

    private Numbering() {}

    /**
     * Decides.
     *
     * @param reports of each place
     * @param majority whether parts without a majority stop
     * @return {@link Numbers}; {@link #LATER}; or {@link Refused}, and why
     */
    static ViewMessages of(List<Report> reports, boolean majority) {
        Report last = reports.stream().max(Comparator.comparingLong((Report report) -> report.used().view())
                .thenComparingInt(report -> report.used().places().length)).orElseThrow();
        if (majority) {
            if (!isEnough(last.used())) {
                return refusal(last.used());
            }
            for (Report report : reports) {
                for (Earlier tried : report.tried()) {
                    if (tried.view() > last.used().view() && !isEnough(tried)) {
                        return refusal(tried);
                    }
                }
            }
        }
        int[] numbers = new int[reports.size()];
        Arrays.fill(numbers, -1);
        Set<Integer> taken = new HashSet<>();
        for (int number : last.numbers()) {
            taken.add(number);
        }
        for (int i = 0; i < last.used().places().length; i++) {
            int place = last.used().places()[i];
            int number = last.numbers()[i];
            if (reports.get(place).own() == number) {
                numbers[place] = number;
            }
        }
        int given = reports.stream().mapToInt(Report::given).max().orElse(0);
        boolean clean = reports.stream().allMatch(Report::clean);
        for (int place = 0; place < numbers.length; place++) {
            while (numbers[place] < 0) {
                if (given >= LamportClock.NODES_MAX && !clean) {
                    return LATER;
                }
                int next = given % LamportClock.NODES_MAX;
                given++;
                numbers[place] = taken.add(next) ? next : -1;
            }
        }
        return new Numbers(given, numbers);
    }

    private static boolean isEnough(Earlier view) {
        int here = 2 * view.places().length;
        return here > view.size() || (here == view.size() && (view.coordinated() || view.size() == 0));
    }

    private static Refused refusal(Earlier view) {
        return new Refused("only " + view.places().length + " of the " + view.size() + " members of view " + view.view()
                + " are here, in which messages may have been ordered since");
    }
}
