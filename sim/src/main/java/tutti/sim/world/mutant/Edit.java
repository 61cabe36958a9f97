package tutti.sim.world.mutant;

import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Label;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.ConstantInstruction;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * One thing broken in one method of a class file. It has so many places in the method, of which the method must have exactly as many
 * as the edit says, or it does not apply: then the class has changed, and the edit must be looked at.
 *
 * @param type full name of the class
 * @param method name of the method; what lambdas of it do belongs to it. With the beginning of its descriptor if there are
 *            others of the name
 * @param change what is done there
 * @param place which of the places is changed, from 1 on; 0 for all
 * @param places how many there are
 * @param every how often it goes wrong: once in so many times that the place is reached, 1 for always
 */
record Edit(String type, String method, Change change, int place, int places, int every) {
    /** What is done at a place. */
    sealed interface Change {
        /** A call is left out, and gives 0, false or null. */
        record LeftOut(String callee) implements Change {}

        /** A call is left out, and gives this. */
        record Given(String callee, int value) implements Change {}

        /** Another method with the same descriptor is called. */
        record Instead(String callee, String other) implements Change {}

        /** A field is not written. */
        record Unwritten(String field) implements Change {}

        /** Another constant. */
        record Constant(long from, long to) implements Change {}

        /** The nth conditional jump, from 1 on, behind a call or a read of a field of this name. */
        record Condition(String behind, int nth, Jump jump) implements Change {}

        /** The method does nothing, and gives this. */
        record Body(int value) implements Change {}
    }

    /** What becomes of a conditional jump. */
    enum Jump {
        /** It always jumps. As compilers write it, that is over what is done if the condition holds. */
        TAKEN,
        /** It never jumps. */
        PASSED,
        /** It jumps when it should not, and the other way round. */
        TURNED
    }

    private static final ClassDesc SOMETIMES = ClassDesc.of(Sometimes.class.getName());
    private static final MethodTypeDesc NOW = MethodTypeDesc.of(ConstantDescs.CD_boolean, ConstantDescs.CD_int);
    private static final Set<Opcode> OF_TWO = EnumSet.of(Opcode.IF_ICMPEQ, Opcode.IF_ICMPNE, Opcode.IF_ICMPLT,
            Opcode.IF_ICMPGE, Opcode.IF_ICMPGT, Opcode.IF_ICMPLE, Opcode.IF_ACMPEQ, Opcode.IF_ACMPNE);

    /** In the one place that a method has for it, always. */
    static Edit of(String type, String method, Change change) {
        return new Edit(type, method, change, 1, 1, 1);
    }

    /** The same in another place. */
    Edit at(int nth, int of) {
        return new Edit(type, method, change, nth, of, every);
    }

    /** The same in another method. */
    Edit in(String other) {
        return new Edit(type, other, change, place, places, every);
    }

    /** The same, but only once in so many times. */
    Edit onceIn(int times) {
        return new Edit(type, method, change, place, places, times);
    }

    /**
     * The class with the edit in it.
     *
     * @throws IllegalStateException if the class does not have the places that the edit is about
     */
    byte[] in(byte[] original) {
        // What is not reached any more is left out, and the table of its local variables would speak of nothing.
        ClassFile files = ClassFile.of(ClassFile.DebugElementsOption.DROP_DEBUG,
                ClassFile.ClassHierarchyResolverOption.of(
                        ClassHierarchyResolver.ofResourceParsing(Edit.class.getClassLoader())
                                .orElse(ClassHierarchyResolver.defaultResolver())));
        ClassModel model = files.parse(original);
        int[] found = new int[1];
        byte[] edited = files.transformClass(model, (builder, element) -> {
            if (element instanceof MethodModel candidate && isMeant(candidate)) {
                builder.transformMethod(candidate, MethodTransform.transformingCode(transform(candidate, found)));
            } else {
                builder.with(element);
            }
        });
        if (found[0] != places) {
            throw new IllegalStateException("the edit '" + this + "' is about " + places + " places, but there are "
                    + found[0] + ": " + type + " has changed, and the mutant must be made to fit again");
        }
        return edited;
    }

    private boolean isMeant(MethodModel candidate) {
        String name = candidate.methodName().stringValue();
        return method.indexOf('(') >= 0
                ? (name + candidate.methodType().stringValue()).startsWith(method)
                : name.equals(method) || name.startsWith("lambda$" + method + "$");
    }

    private CodeTransform transform(MethodModel of, int[] found) {
        return switch (change) {
            case Change.Body(int value) ->
                new WholeBody(TypeKind.from(of.methodTypeSymbol().returnType()), value, found);
            case Change.Condition condition -> new BehindMention(condition, found);
            default -> (builder, element) -> {
                if (isPlace(element) && isMeant(found)) {
                    change(builder, element);
                } else {
                    builder.with(element);
                }
            };
        };
    }

    /** Counts a place; answers whether it is to be changed. */
    private boolean isMeant(int[] found) {
        found[0]++;
        return place == 0 || found[0] == place;
    }

    private boolean isPlace(CodeElement element) {
        return switch (change) {
            case Change.LeftOut(String callee) -> calls(element, callee);
            case Change.Given(String callee, int _) -> calls(element, callee);
            case Change.Instead(String callee, String _) -> calls(element, callee);
            case Change.Unwritten(String field) -> element instanceof FieldInstruction write
                    && (write.opcode() == Opcode.PUTFIELD || write.opcode() == Opcode.PUTSTATIC)
                    && write.name().equalsString(field);
            case Change.Constant(long from, long _) -> element instanceof ConstantInstruction constant
                    && (constant.constantValue() instanceof Integer || constant.constantValue() instanceof Long)
                    && ((Number) constant.constantValue()).longValue() == from;
            case Change.Condition _,Change.Body _ -> false;
        };
    }

    private static boolean calls(CodeElement element, String callee) {
        return element instanceof InvokeInstruction call && call.name().equalsString(callee);
    }

    private void change(CodeBuilder builder, CodeElement element) {
        if (every == 1) {
            changed(builder, element);
            return;
        }
        Label asEver = builder.newLabel();
        Label after = builder.newLabel();
        builder.loadConstant(every).invokestatic(SOMETIMES, "now", NOW).ifeq(asEver);
        changed(builder, element);
        builder.goto_(after).labelBinding(asEver).with(element).labelBinding(after);
    }

    private void changed(CodeBuilder builder, CodeElement element) {
        switch (change) {
            case Change.LeftOut _ -> leaveOut(builder, (InvokeInstruction) element, 0);
            case Change.Given(String _, int value) -> leaveOut(builder, (InvokeInstruction) element, value);
            case Change.Instead(String _, String other) -> {
                InvokeInstruction call = (InvokeInstruction) element;
                builder.invoke(call.opcode(), call.owner().asSymbol(), other, call.typeSymbol(), call.isInterface());
            }
            case Change.Unwritten _ -> {
                FieldInstruction write = (FieldInstruction) element;
                drop(builder, write.typeSymbol());
                if (write.opcode() == Opcode.PUTFIELD) {
                    builder.pop();
                }
            }
            case Change.Constant(long _, long to) -> {
                if (((ConstantInstruction) element).typeKind() == TypeKind.LONG) {
                    builder.loadConstant(to);
                } else {
                    builder.loadConstant((int) to);
                }
            }
            case Change.Condition _,Change.Body _ -> throw new IllegalStateException("not at an element: " + change);
        }
    }

    private static void leaveOut(CodeBuilder builder, InvokeInstruction call, int value) {
        List<ClassDesc> parameters = call.typeSymbol().parameterList();
        parameters.reversed().forEach(parameter -> drop(builder, parameter));
        if (call.opcode() != Opcode.INVOKESTATIC) {
            builder.pop();
        }
        give(builder, TypeKind.from(call.typeSymbol().returnType()), value);
    }

    private static void drop(CodeBuilder builder, ClassDesc type) {
        if (TypeKind.from(type).slotSize() == 2) {
            builder.pop2();
        } else {
            builder.pop();
        }
    }

    private static void give(CodeBuilder builder, TypeKind kind, int value) {
        switch (kind) {
            case VOID -> {
                // Nothing is given.
            }
            case LONG -> builder.loadConstant((long) value);
            case DOUBLE -> builder.loadConstant((double) value);
            case FLOAT -> builder.loadConstant((float) value);
            case REFERENCE -> builder.aconst_null();
            default -> builder.loadConstant(value);
        }
    }

    /** In place of what a method does, or before it. */
    private final class WholeBody implements CodeTransform {
        private final TypeKind returned;
        private final int value;
        private final int[] found;

        WholeBody(TypeKind returned, int value, int[] found) {
            this.returned = returned;
            this.value = value;
            this.found = found;
        }

        @Override
        public void atStart(CodeBuilder builder) {
            found[0]++;
            Label asEver = builder.newLabel();
            if (every > 1) {
                builder.loadConstant(every).invokestatic(SOMETIMES, "now", NOW).ifeq(asEver);
            }
            give(builder, returned, value);
            builder.return_(returned);
            if (every > 1) {
                builder.labelBinding(asEver);
            }
        }

        @Override
        public void accept(CodeBuilder builder, CodeElement element) {
            if (every > 1) {
                builder.with(element);
            }
        }
    }

    /** Counts the conditional jumps behind a mention of a name. */
    private final class BehindMention implements CodeTransform {
        private final Change.Condition condition;
        private final int[] found;
        /** How many are left to the one that counts; 0 if none was mentioned. */
        private int left;

        BehindMention(Change.Condition condition, int[] found) {
            this.condition = condition;
            this.found = found;
        }

        @Override
        public void accept(CodeBuilder builder, CodeElement element) {
            if (mentions(element)) {
                left = condition.nth();
            } else if (left > 0 && element instanceof BranchInstruction branch && branch.opcode() != Opcode.GOTO
                    && branch.opcode() != Opcode.GOTO_W && --left == 0 && isMeant(found)) {
                change(builder, branch);
                return;
            }
            builder.with(element);
        }

        private boolean mentions(CodeElement element) {
            return calls(element, condition.behind())
                    || (element instanceof FieldInstruction field && field.name().equalsString(condition.behind())
                            && (field.opcode() == Opcode.GETFIELD || field.opcode() == Opcode.GETSTATIC));
        }

        private void change(CodeBuilder builder, BranchInstruction branch) {
            Label asEver = builder.newLabel();
            Label after = builder.newLabel();
            if (every > 1) {
                builder.loadConstant(every).invokestatic(SOMETIMES, "now", NOW).ifeq(asEver);
            }
            if (condition.jump() == Jump.TURNED) {
                // Over the jump if it would jump, else to where it would.
                builder.branch(branch.opcode(), after).goto_(branch.target());
            } else {
                builder.pop();
                if (OF_TWO.contains(branch.opcode())) {
                    builder.pop();
                }
                builder.goto_(condition.jump() == Jump.TAKEN ? branch.target() : after);
            }
            builder.labelBinding(asEver);
            if (every > 1) {
                builder.with(branch);
            }
            builder.labelBinding(after);
        }
    }

    /** For people: where it is, and what it does. */
    @Override
    public String toString() {
        String what = switch (change) {
            case Change.LeftOut(String callee) -> "no call of " + callee;
            case Change.Given(String callee, int value) -> callee + " gives " + value;
            case Change.Instead(String callee, String other) -> other + " instead of " + callee;
            case Change.Unwritten(String field) -> field + " is not written";
            case Change.Constant(long from, long to) -> to + " instead of " + from;
            case Change.Condition(String behind, int nth, Jump jump) -> (nth == 1 ? "" : nth + ". ") + "jump behind "
                    + behind + " "
                    + switch (jump) {
                        case TAKEN -> "always";
                        case PASSED -> "never";
                        case TURNED -> "the other way round";
                    };
            case Change.Body(int value) -> "gives " + value + " and does nothing";
        };
        return type.substring(type.lastIndexOf('.') + 1) + "." + method + ": " + what
                + (places > 1 ? place == 0 ? " (all " + places + ")" : " (" + place + ". of " + places + ")" : "")
                + (every > 1 ? ", once in " + every : "");
    }
}
