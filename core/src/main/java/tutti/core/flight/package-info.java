/**
 * The flight recorder: what a protocol was told and what it asked for, step by step, in a bounded ring; and the same
 * protocol run over it again ({@code docs/flight-recorder.md}). A protocol is deterministic, so from
 * the same state the same events must bring the same effects, anywhere.
 */
@NullMarked
package tutti.core.flight;

import org.jspecify.annotations.NullMarked;
