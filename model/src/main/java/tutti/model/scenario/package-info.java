/**
 * Scenario files: YAML that says everything a run of {@code tutti.model} follows from, checked key by key, with line and
 * remedy for whatever is wrong. The scenarios and the calibration of the papers are shipped as resources of this package.
 */
@NullMarked
package tutti.model.scenario;

import org.jspecify.annotations.NullMarked;
