package tutti.minha.rewrite;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_String;
import static java.lang.constant.ConstantDescs.CD_Throwable;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Label;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.ExceptionCatch;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LabelTarget;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDesc;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.DynamicCallSiteDesc;
import java.lang.constant.MethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Monitors;
import tutti.minha.jdk.time.SimulatedClock;

/**
 * Rewrites the code of one method, whose types are renamed already. Each change leaves on the stack what the original
 * instruction would have left, so that nothing around it needs to change.
 */
final class BodyRewriter implements CodeTransform {
    private static final ClassDesc REPLACEMENTS = desc(Replacements.class);
    private static final ClassDesc MONITORS = desc(Monitors.class);
    private static final ClassDesc CLOCK = ClassDesc.of("java.time.Clock");
    private static final ClassDesc ZONE = ClassDesc.of("java.time.ZoneId");
    private static final ClassDesc EXECUTOR = ClassDesc.of("java.util.concurrent.Executor");
    private static final ClassDesc INET_ADDRESS = ClassDesc.of("java.net.InetAddress");
    private static final String COMPLETABLE_FUTURE = "java/util/concurrent/CompletableFuture";
    private static final String INIT = "<init>";
    private static final MethodTypeDesc ON_OBJECT = MethodTypeDesc.of(CD_void, CD_Object);
    private static final Map<String, String> LINKED = Map.of("java/util/HashMap", "java/util/LinkedHashMap",
            "java/util/HashSet", "java/util/LinkedHashSet");
    private static final Map<String, String> STREAMS = Map.of("out", "Ljava/io/PrintStream;", "err",
            "Ljava/io/PrintStream;", "in", "Ljava/io/InputStream;");

    private final String className;
    private final @Nullable String superName;
    private final String methodName;
    private final boolean synchronizedStatic;
    /** The local variable that keeps the object whose monitor a synchronized method holds, or -1. */
    private final int monitorSlot;
    private final Set<Label> passed = new HashSet<>();
    private final Set<Label> catchAlls;
    private @Nullable Label begin;

    /** What is to be known of a method. */
    record Method(String className, @Nullable String superName, String name, boolean isStatic, boolean isSynchronized,
            int locals, Set<Label> catchAlls) {}

    BodyRewriter(Method method) {
        this.className = method.className();
        this.superName = method.superName();
        this.methodName = method.name();
        this.synchronizedStatic = method.isStatic();
        this.monitorSlot = method.isSynchronized() ? method.locals() : -1;
        this.catchAlls = method.catchAlls();
    }

    private static ClassDesc desc(Class<?> type) {
        return type.describeConstable().orElseThrow();
    }

    private static ClassDesc desc(String internal) {
        return internal.startsWith("[") ? ClassDesc.ofDescriptor(internal) : ClassDesc.ofInternalName(internal);
    }

    @Override
    public void atStart(CodeBuilder code) {
        if (monitorSlot >= 0) {
            if (synchronizedStatic) {
                code.loadConstant(desc(className));
            } else {
                code.aload(0);
            }
            code.dup().astore(monitorSlot).invokestatic(MONITORS, "enter", ON_OBJECT);
            begin = code.newBoundLabel();
        }
        if (!methodName.equals("<clinit>")) {
            tick(code);
        }
    }

    private static void tick(CodeBuilder code) {
        code.invokestatic(ClassDesc.of(Ticks.class.getName()), "tick", MethodTypeDesc.of(CD_void));
    }

    @Override
    public void atEnd(CodeBuilder code) {
        if (begin != null) {
            Label end = code.newBoundLabel();
            code.aload(monitorSlot).invokestatic(MONITORS, "exit", ON_OBJECT).athrow();
            code.exceptionCatchAll(begin, end, end);
        }
    }

    @Override
    public void accept(CodeBuilder code, CodeElement element) {
        switch (element) {
            case LabelTarget target -> {
                code.with(target);
                passed.add(target.label());
                if (catchAlls.contains(target.label())) {
                    code.dup().invokestatic(REPLACEMENTS, "caught", MethodTypeDesc.of(CD_void, CD_Throwable));
                }
            }
            case BranchInstruction branch -> {
                if (passed.contains(branch.target())) {
                    tick(code);
                }
                code.with(branch);
            }
            case ReturnInstruction end when monitorSlot >= 0 -> {
                code.aload(monitorSlot).invokestatic(MONITORS, "exit", ON_OBJECT);
                code.with(end);
            }
            case MonitorInstruction monitor -> code.invokestatic(MONITORS,
                    monitor.opcode() == Opcode.MONITORENTER ? "enter" : "exit", ON_OBJECT);
            case FieldInstruction field -> field(code, field);
            case NewObjectInstruction made when linked(made.className().asInternalName()) != null -> code
                    .new_(desc(String.valueOf(linked(made.className().asInternalName()))));
            case InvokeInstruction invoke -> invoke(code, invoke);
            case InvokeDynamicInstruction dynamic -> dynamic(code, dynamic);
            default -> code.with(element);
        }
    }

    /** The collection that is made instead, whose order does not depend on hash codes; null for itself. */
    private @Nullable String linked(String type) {
        return methodName.equals(INIT) && type.equals(superName) ? null : LINKED.get(type);
    }

    private static void field(CodeBuilder code, FieldInstruction field) {
        String type = STREAMS.get(field.name().stringValue());
        if (type != null && field.opcode() == Opcode.GETSTATIC
                && field.owner().asInternalName().equals("java/lang/System")) {
            code.invokestatic(REPLACEMENTS, field.name().stringValue(),
                    MethodTypeDesc.of(ClassDesc.ofDescriptor(type)));
        } else {
            code.with(field);
        }
    }

    private void invoke(CodeBuilder code, InvokeInstruction invoke) {
        String owner = invoke.owner().asInternalName();
        String name = invoke.name().stringValue();
        String type = invoke.type().stringValue();
        Rules.Target target = Rules.method(owner, name, type);
        String monitor = monitorMethod(name, type, invoke.opcode());
        if (target != null && invoke.opcode() != Opcode.INVOKESPECIAL) {
            code.invokestatic(REPLACEMENTS, target.name(), target.type());
        } else if (monitor != null) {
            code.invokestatic(MONITORS, monitor,
                    MethodTypeDesc.ofDescriptor("(Ljava/lang/Object;" + type.substring(1)));
        } else if (name.equals(INIT)) {
            construct(code, invoke, owner, type);
        } else if (owner.startsWith("java/time/") && name.equals("now") && invoke.opcode() == Opcode.INVOKESTATIC) {
            now(code, invoke);
        } else if (isParallel(owner, name)) {
            String other = name.equals("parallel") ? "sequential" : "stream";
            if (invoke.opcode() == Opcode.INVOKEINTERFACE) {
                code.invokeinterface(desc(owner), other, invoke.typeSymbol());
            } else {
                code.invokevirtual(desc(owner), other, invoke.typeSymbol());
            }
        } else if (owner.equals(COMPLETABLE_FUTURE) && name.endsWith("Async")
                && !type.contains("Ljava/util/concurrent/Executor;)")) {
            withExecutor(code, invoke);
        } else {
            refuseOrCall(code, invoke, owner, name, type);
        }
    }

    /** What {@code wait}, {@code notify} and {@code notifyAll} are, which nobody can override; null for others. */
    private static @Nullable String monitorMethod(String name, String type, Opcode opcode) {
        if (opcode == Opcode.INVOKESTATIC) {
            return null;
        }
        return switch (name + type) {
            case "wait()V", "wait(J)V", "wait(JI)V" -> "await";
            case "notify()V" -> "signal";
            case "notifyAll()V" -> "signalAll";
            default -> null;
        };
    }

    private static boolean isParallel(String owner, String name) {
        return name.equals("parallelStream") || (name.equals("parallel") && owner.startsWith("java/util/stream/"));
    }

    private void construct(CodeBuilder code, InvokeInstruction invoke, String owner, String type) {
        String completion = Rules.completion(owner);
        if (completion != null && type.equals("()V")) {
            code.invokestatic(REPLACEMENTS, completion, MethodTypeDesc.of(CD_long));
            code.invokespecial(desc(owner), INIT, MethodTypeDesc.of(CD_void, CD_long));
        } else if (owner.equals("java/net/InetSocketAddress") && type.equals("(Ljava/lang/String;I)V")) {
            code.swap().invokestatic(REPLACEMENTS, "resolve", MethodTypeDesc.of(INET_ADDRESS, CD_String)).swap();
            code.invokespecial(desc(owner), INIT, MethodTypeDesc.of(CD_void, INET_ADDRESS, CD_int));
        } else if (linked(owner) != null) {
            code.invokespecial(desc(String.valueOf(linked(owner))), INIT, invoke.typeSymbol());
        } else {
            refuseOrCall(code, invoke, owner, INIT, type);
        }
    }

    private static void now(CodeBuilder code, InvokeInstruction invoke) {
        MethodTypeDesc type = invoke.typeSymbol();
        ClassDesc clocks = desc(SimulatedClock.class);
        if (type.parameterCount() == 0) {
            code.invokestatic(clocks, "systemUTC", MethodTypeDesc.of(CLOCK));
        } else if (type.parameterType(0).equals(ZONE)) {
            code.invokestatic(clocks, "system", MethodTypeDesc.of(CLOCK, ZONE));
        }
        code.invokestatic(desc(invoke.owner().asInternalName()), "now", MethodTypeDesc.of(type.returnType(), CLOCK),
                invoke.isInterface());
    }

    private static void withExecutor(CodeBuilder code, InvokeInstruction invoke) {
        MethodTypeDesc type = invoke.typeSymbol();
        MethodTypeDesc more = type.insertParameterTypes(type.parameterCount(), EXECUTOR);
        code.invokestatic(REPLACEMENTS, "executor", MethodTypeDesc.of(EXECUTOR));
        String name = invoke.name().stringValue();
        if (invoke.opcode() == Opcode.INVOKESTATIC) {
            code.invokestatic(desc(COMPLETABLE_FUTURE), name, more);
        } else {
            code.invokevirtual(desc(COMPLETABLE_FUTURE), name, more);
        }
    }

    private void refuseOrCall(CodeBuilder code, InvokeInstruction invoke, String owner, String name, String type) {
        String refusal = Rules.refusal(owner, name, type);
        if (refusal != null) {
            refuse(code, owner, name, refusal);
        }
        code.with(invoke);
    }

    private void refuse(CodeBuilder code, String owner, String name, String refusal) {
        String original = Rules.renamed().entrySet().stream().filter(entry -> entry.getValue().equals(owner))
                .map(Map.Entry::getKey).findFirst().orElse(owner).replace('/', '.');
        code.loadConstant(original + (name.equals(INIT) ? "" : "." + name) + ", called in "
                + className.replace('/', '.') + "." + methodName + ", is not simulated: " + refusal);
        code.invokestatic(REPLACEMENTS, "refuse", MethodTypeDesc.of(CD_void, CD_String));
    }

    private void dynamic(CodeBuilder code, InvokeDynamicInstruction dynamic) {
        List<ConstantDesc> arguments = dynamic.bootstrapArgs();
        ConstantDesc[] changed = arguments.stream().map(argument -> handle(code, argument))
                .toArray(ConstantDesc[]::new);
        if (arguments.equals(List.of(changed))) {
            code.with(dynamic);
        } else {
            code.invokedynamic(DynamicCallSiteDesc.of(dynamic.bootstrapMethod(), dynamic.name().stringValue(),
                    dynamic.typeSymbol(), changed));
        }
    }

    /** What a method reference refers to. */
    private ConstantDesc handle(CodeBuilder code, ConstantDesc argument) {
        if (!(argument instanceof DirectMethodHandleDesc handle) || handle.owner().isArray()) {
            return argument;
        }
        String descriptor = handle.owner().descriptorString();
        String owner = descriptor.substring(1, descriptor.length() - 1);
        String name = handle.methodName();
        String type = handle.lookupDescriptor();
        Rules.Target target = Rules.method(owner, name, type);
        if (target != null) {
            return MethodHandleDesc.ofMethod(DirectMethodHandleDesc.Kind.STATIC, REPLACEMENTS, target.name(),
                    target.type());
        }
        boolean called = type.startsWith("(");
        String monitor = called && handle.kind() != DirectMethodHandleDesc.Kind.STATIC
                ? monitorMethod(name, type, Opcode.INVOKEVIRTUAL)
                : null;
        if (monitor != null) {
            return MethodHandleDesc.ofMethod(DirectMethodHandleDesc.Kind.STATIC, MONITORS, monitor,
                    MethodTypeDesc.ofDescriptor("(Ljava/lang/Object;" + type.substring(1)));
        }
        boolean made = handle.kind() == DirectMethodHandleDesc.Kind.CONSTRUCTOR;
        if (made && owner.equals("java/util/Random") && type.equals("()V")) {
            return MethodHandleDesc.ofMethod(DirectMethodHandleDesc.Kind.STATIC, REPLACEMENTS, "newRandom",
                    MethodTypeDesc.of(desc(owner)));
        }
        String linked = made ? LINKED.get(owner) : null;
        if (linked != null) {
            return MethodHandleDesc.of(handle.kind(), desc(linked), INIT, type);
        }
        String refusal = called ? Rules.refusal(owner, made ? INIT : name, type) : null;
        if (refusal != null) {
            refuse(code, owner, made ? INIT : name, refusal);
        }
        return argument;
    }

    /** The handlers of a method that catch everything, by name and not as a {@code finally}. */
    static void collect(Set<Label> handlers, CodeElement element) {
        if (element instanceof ExceptionCatch handler && handler.catchType().isPresent()) {
            String type = handler.catchType().get().asInternalName();
            if (type.equals("java/lang/Throwable") || type.equals("java/lang/Error")) {
                handlers.add(handler.handler());
            }
        }
    }
}
