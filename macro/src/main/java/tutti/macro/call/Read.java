package tutti.macro.call;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of an interface, and what overrides it without a mark of its own, as one whose calls do not affect the
 * results of later calls. It may change internal state (a structure that moves what was looked up to the front) as long as
 * no later result shows it; see {@link tutti.macro.MacroComponent.Builder#exclusiveReplica} for such implementations.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Read {}
