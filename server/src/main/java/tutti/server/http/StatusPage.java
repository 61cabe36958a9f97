package tutti.server.http;

import java.util.Locale;
import java.util.Map;

/** The status of a node as a small page for people, which renews itself. */
final class StatusPage {
    private StatusPage() {}

    static String write(NodeStatus status) {
        StringBuilder page = new StringBuilder("""
                <!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2">
                <meta name="viewport" content="width=device-width, initial-scale=1"><title>%s</title><style>
                :root{color-scheme:light dark}
                body{font:15px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}
                table{border-collapse:collapse;width:100%%}td,th{text-align:left;padding:.2rem .6rem .2rem 0}
                tr{border-bottom:1px solid color-mix(in srgb,currentColor 18%%,transparent)}
                td:last-child{font-variant-numeric:tabular-nums}
                </style></head><body>""".formatted(escape(status.name())));
        page.append("<h1>").append(escape(status.name())).append(": ")
                .append(status.state().name().toLowerCase(Locale.ROOT)).append("</h1>");
        if (status.reason() != null) {
            page.append("<p>").append(escape(status.reason())).append("</p>");
        }
        page.append("<table>");
        row(page, "cluster", status.cluster());
        row(page, "protocol", status.protocol());
        row(page, "versions", "Tutti " + status.version() + ", " + status.database());
        row(page, "PostgreSQL clients connect to", status.sql());
        row(page, "position applied", number(status.positions().applied()));
        row(page, "position ordered", number(status.positions().known()));
        row(page, "lag in positions", number(status.positions().lag()));
        row(page, "leader of the order", status.leader() == null ? "none" : String.valueOf(status.leader()));
        row(page, "majority", status.majority() ? "yes" : "no: writes are refused");
        NodeStatus.Secondaries secondaries = status.secondaries();
        if (secondaries != null) {
            row(page, "secondaries", secondaries.inWords());
            row(page, "read-only transactions at secondaries", number(secondaries.readsAtSecondaries()));
            row(page, "read-only transactions at the primary", number(secondaries.readsAtPrimary()));
            if (secondaries.lastFailure() != null) {
                row(page, "last secondary dropped", secondaries.lastFailure());
            }
        }
        row(page, "sessions", number(status.sessions()));
        row(page, "commits in flight", number(status.inFlight()));
        row(page, "committed here since start", number(status.committed()));
        status.aborted().entrySet().stream().sorted(Map.Entry.comparingByKey())
                .forEach(entry -> row(page, "aborted: " + entry.getKey(), number(entry.getValue())));
        row(page, "bytes waiting to be ordered", number(status.order().queuedBytes()));
        row(page, "bytes of log", number(status.order().logBytes()));
        if (!status.order().givenUp().isEmpty()) {
            row(page, "members that need a copy if they come back late", status.order().givenUp().toString());
        }
        row(page, "bytes of heap", number(status.heapUsedBytes()));
        row(page, "seconds since start", number(status.uptimeSeconds()));
        page.append("</table><h2>Members</h2><table>");
        for (NodeStatus.Member member : status.members()) {
            String state = member.reachable() ? "reachable" : "not reachable";
            String name = escape(member.id() + " " + member.name());
            page.append("<tr><td>");
            if (member.http() == null) {
                page.append(name);
            } else {
                page.append("<a href=\"http://").append(escape(member.http())).append("/\">").append(name)
                        .append("</a>");
            }
            page.append("</td><td>").append(state).append("</td></tr>");
        }
        return page.append("""
                </table><p><a href="/status">status</a> · <a href="/metrics">metrics</a> ·
                <a href="/health/ready">ready</a> · <a href="/health/live">live</a></p></body></html>
                """).toString();
    }

    private static void row(StringBuilder page, String name, String value) {
        page.append("<tr><td>").append(escape(name)).append("</td><td>").append(escape(value)).append("</td></tr>");
    }

    private static String number(long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
    }
}
