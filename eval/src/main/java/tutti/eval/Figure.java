package tutti.eval;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import tutti.model.RunResult;
import tutti.report.Chart;

/**
 * A figure or a table of a paper.
 *
 * @param id as in the paper, for example {@code 7a}
 * @param needs the runs that it is made from
 * @param draw draws it
 */
record Figure(String id, List<FigureRun> needs, Consumer<FigurePages> draw) {
    /** Curves over the number of clients: one for each setting, by its name. */
    static Figure overClients(String id, String file, String title, String up, List<Integer> clients,
            Map<String, FigureRun> curves, ToDoubleFunction<RunResult> value) {
        List<FigureRun> needs = new ArrayList<>();
        curves.values().forEach(setting -> clients.forEach(count -> needs.add(setting.clients(count))));
        return new Figure(id, needs, sheet -> {
            List<Chart.Curve> drawn = new ArrayList<>();
            double[] at = clients.stream().mapToDouble(Integer::doubleValue).toArray();
            curves.forEach((name, setting) -> drawn
                    .add(sheet.curve(name, at, clients.stream().map(setting::clients).toList(), value)));
            sheet.chart(file, new Chart(title, "clients", up, false, false, true, drawn));
        });
    }

    /** Some of the curves. */
    static Map<String, FigureRun> only(Map<String, FigureRun> curves, String... names) {
        Map<String, FigureRun> some = new LinkedHashMap<>();
        for (String name : names) {
            FigureRun found = curves.get(name);
            if (found == null) {
                throw new IllegalArgumentException("no curve " + name);
            }
            some.put(name, found);
        }
        return some;
    }

    static String text(double value, int decimals) {
        return String.format(Locale.ROOT, "%,." + decimals + "f", value);
    }
}
