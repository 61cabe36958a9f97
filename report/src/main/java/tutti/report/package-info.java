/**
 * What measurements report and how it is drawn: the machine that they ran on ({@link tutti.report.Machine},
 * {@link tutti.report.MeasurementConditions}), processor time of processes ({@link tutti.report.ProcessTimes}), numbers as JSON, charts as
 * SVG or PNG, and pages of HTML that need nothing else.
 */
@NullMarked
package tutti.report;

import org.jspecify.annotations.NullMarked;
