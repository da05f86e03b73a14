"""What may stand between the marks of a program that is handed in: statements, of the tokens and of the parts of C++ that
are listed here. libclang reads them, in a process of its own: what a stranger wrote may bring a compiler to its end."""
import functools
import json
import re
import resource
import subprocess
import sys
from pathlib import Path

from tools import exercises, machine
from tools.guard import stop
from tools.paths import ROOT

SECONDS, MEMORY = 20, 4 << 30
TOO_MUCH = "It is too much for a parser to read."
EMULATOR, COMMON = ROOT / "emulator" / "include", ROOT / "common"
FILE = "/learn/program.cu"
# What .clangd tells clangd, of the standard that exercises are compiled with.
OPTIONS = ("-xcuda", "-std=c++20", "--cuda-host-only", "-nocudainc", "-nocudalib", "-nostdinc", "-ferror-limit=0", "-w",
           f"-I{EMULATOR}", f"-I{COMMON}", "-include", "simt/editor.h")
# Where host code is read, clang has to know what a kernel is: only of its launches it keeps all parts. (Of a kernel's own
# lines it would say that they call functions of the host, as all of the emulator's are.)
KERNELS = "/learn/kernels.h", "#undef __global__\n#define __global__ __attribute__((global))\n"
# Errors that are none of the program: kernels are functions like others here, and PTX's registers are not this machine's.
WAIVED = re.compile(r"kernel call to non-global function|invalid (?:input|output) constraint")

# ---- tokens ----

KEYWORDS = set("""alignas alignof auto bool break case char char8_t char16_t char32_t class const const_cast constexpr continue
    decltype default delete do double else enum extern false float for if inline int long mutable namespace new noexcept nullptr operator
    reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this true typedef
    typename union unsigned using void volatile wchar_t while and or not xor bitand bitor compl and_eq or_eq xor_eq
    not_eq __restrict __restrict__ __func__ __int128""".split())
PUNCTUATION = set("{ } [ ] ( ) ; : :: , . -> ? + - * / % ^ & | ~ ! = < > += -= *= /= %= ^= &= |= << >> <<< >>> <<= >>= == != "
                  "<= >= <=> && || ++ --".split())
NUMBER = re.compile(r"(?:0[xX][\da-fA-F]+(?:'[\da-fA-F]+)*(?:\.[\da-fA-F]*)?(?:[pP][+-]?\d+)?|0[bB][01]+(?:'[01]+)*|"
                    r"\d+(?:'\d+)*(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)(?:[fFlL]|[uU]?[lL]{0,2}|[lL]{1,2}[uU])")
STRING = re.compile(r'(?:u8|[uUL])?"(?:\\[^\n]|[^"\\\n])*"')
CHARACTER = re.compile(r"(?:u8|[uUL])?'(?:\\[^\n]|[^'\\\n])+'")
ATTRIBUTES = {"maybe_unused", "fallthrough", "likely", "unlikely", "nodiscard"}
CONTROL = re.compile(r"[^\t\n\x20-\x7e\x80-\U0010ffff]|[\x80-\x9f]")
LONGEST_LINE = 1000  # characters
# Of the words that the emulator's headers have, those that CUDA does not.
INNER = re.compile(r"simt\w*|SIMT\w*|_[A-Z]\w*|__(?:builtin_|sync_|atomic_|sanitizer|tsan|cxa|has_|is_|attribute|asm|extension|typeof|"
                   r"declspec|label|gnu|clang|GNUC|GLIBC|GXX|STDC|real|imag|auto_type|pragma|cpp|cuda)\w*|__thread")
# Of gcc's own functions, those that CUDA has, too.
HINTS = {"__builtin_expect", "__builtin_assume_aligned", "__builtin_unreachable"}
# What only kernels or variables of the whole program have. clang reads some of them as nothing, with all in their parentheses.
OF_KERNELS = {"__global__", "__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__", "__grid_constant__", "__constant__",
              "__managed__"}
ASSEMBLY = {"asm", "__asm", "__asm__"}
UNROLL = re.compile(r'"unroll(?: *\(? *\w+ *\)?)?"')  # in _Pragma

# ---- macros ----

MACROS = re.compile(r"U?INT(?:_(?:LEAST|FAST))?(?:8|16|32|64|MAX|PTR)?_(?:MAX|MIN|C)|U?INT(?:8|16|32|64|MAX)_C|U?(?:CHAR|SCHAR|SHRT|"
                    r"INT|LONG|LLONG)_(?:MAX|MIN)|CHAR_BIT|SIZE_MAX|PTRDIFF_M(?:AX|IN)|(?:FLT|DBL|LDBL)_\w+|M_\w+|INFINITY|NAN|"
                    r"HUGE_VALF?|NULL|RAND_MAX|assert|offsetof|isnan|isinf|isfinite|signbit|__CUDA_ARCH__|__LINE__|__FILE__")

# ---- functions ----

OF_C = re.compile(
    r"(?:(?:l|ll|f)?abs|fmin|fmax|fmod|fma|fdim|r?sqrt|r?cbrt|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|tan|"
    r"sincos|sinpi|cospi|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|hypot|ceil|floor|round|trunc|rint|nearbyint|"
    r"l?lrint|l?lround|remainder|remquo|copysign|nextafter|ldexp|frexp|scalbl?n|ilogb|logb|modf|erf|erfc|tgamma|lgamma|nan)[fl]?|"
    r"isnan|isinf|isfinite|isnormal|signbit|printf|__assert_fail|"
    r"__builtin_(?:inff?|huge_valf?|nanf?|isnan|isinf\w*|isfinite|signbit\w*|expect|offsetof|bit_cast)")
OF_MEMORY = re.compile(r"mem(?:cpy|move|set|cmp)|malloc|free")
OF_CPP = re.compile(
    r"min|max|swap|move|forward|clamp|exchange|get|tie|make_pair|make_tuple|pair|tuple|array|initializer_list|bit_cast|as_const|"
    r"infinity|lowest|epsilon|quiet_NaN|denorm_min|size|data|c?begin|c?end|front|back|div|operator(?!\(\)).*")
HOST_CALLS = re.compile(r"(?:__)?cuda[A-Z]\w+|cuda_check|malloc|calloc|free|min|max|ceil_div|printf")
TAKES_KERNEL = re.compile(r"cudaFunc|cudaOccupancy|cudaLaunch(?!Host)")
HOST = re.compile(r"main|launch|\w+_main|axpy_begin|axpy_end")  # the program's own functions, that no kernel calls
CUDAS = re.compile(r"cuda[A-Z]\w+|cu[A-Z]\w+|cublas\w+")

# ---- parts ----

KINDS = set("""COMPOUND_STMT DECL_STMT IF_STMT FOR_STMT WHILE_STMT DO_STMT SWITCH_STMT CASE_STMT DEFAULT_STMT BREAK_STMT
    CONTINUE_STMT RETURN_STMT NULL_STMT CXX_FOR_RANGE_STMT UNEXPOSED_STMT
    INTEGER_LITERAL FLOATING_LITERAL STRING_LITERAL CHARACTER_LITERAL CXX_BOOL_LITERAL_EXPR CXX_NULL_PTR_LITERAL_EXPR
    GNU_NULL_EXPR DECL_REF_EXPR MEMBER_REF_EXPR OVERLOADED_DECL_REF CALL_EXPR ARRAY_SUBSCRIPT_EXPR UNARY_OPERATOR BINARY_OPERATOR
    COMPOUND_ASSIGNMENT_OPERATOR CONDITIONAL_OPERATOR PAREN_EXPR UNEXPOSED_EXPR CSTYLE_CAST_EXPR CXX_STATIC_CAST_EXPR
    CXX_REINTERPRET_CAST_EXPR CXX_CONST_CAST_EXPR CXX_FUNCTIONAL_CAST_EXPR INIT_LIST_EXPR COMPOUND_LITERAL_EXPR
    CXX_UNARY_EXPR CXX_NEW_EXPR CXX_DELETE_EXPR CXX_THIS_EXPR LAMBDA_EXPR VARIABLE_REF SIZE_OF_PACK_EXPR
    VAR_DECL PARM_DECL STRUCT_DECL UNION_DECL ENUM_DECL ENUM_CONSTANT_DECL FIELD_DECL CXX_METHOD CONSTRUCTOR TYPEDEF_DECL
    TYPE_ALIAS_DECL USING_DIRECTIVE USING_DECLARATION NAMESPACE_ALIAS STATIC_ASSERT UNEXPOSED_DECL
    TYPE_REF TEMPLATE_REF NAMESPACE_REF MEMBER_REF ALIGNED_ATTR UNEXPOSED_ATTR WARN_UNUSED_RESULT_ATTR CONCEPT_SPECIALIZATION_EXPR""".split())
PARTS = {"GOTO_STMT": "a goto", "INDIRECT_GOTO_STMT": "a goto", "LABEL_STMT": "a label", "LABEL_REF": "a label", "ADDR_LABEL_EXPR": "a label",
         "StmtExpr": "a statement as an expression", "ASM_STMT": "assembly", "CXX_TRY_STMT": "a try", "CXX_THROW_EXPR": "a throw",
         "FUNCTION_DECL": "the declaration of a function", "CLASS_DECL": "a class", "CONVERSION_FUNCTION": "a conversion to another type",
         "DESTRUCTOR": "a destructor", "CXX_BASE_SPECIFIER": "a base"}
# A function's type, as clang writes it: int (const char *), void (*)(int). Pointers to arrays are none: float (*)[32].
FUNCTION_TYPE = re.compile(r"(?:[\w>] |[*&])\((?!lambda|anonymous|unnamed)(?![*&]+(?:const)?\)\[)")


class No(Exception):
    """Why a text is no list of statements, in a sentence."""


@functools.cache
def words_of_cuda():
    """The words with two underscores in front that the headers of the emulator and of common/ have."""
    files = [*EMULATOR.rglob("*.h"), *EMULATOR.glob("cuda/**/*"), *EMULATOR.glob("cub/**/*"), *COMMON.rglob("*.h")]
    texts = (path.read_text(errors="replace") for path in files if path.is_file())
    return {word for text in texts for word in re.findall(r"\b__\w+", text)}


def require_text(text, names):
    """Refuse what no token is asked about: characters, lines and the marks themselves."""
    if CONTROL.search(text):
        raise No("It has a control character.")
    if max(map(len, text.splitlines()), default=0) > LONGEST_LINE:
        raise No(f"It has a line of more than {LONGEST_LINE} characters.")
    if re.search(r"\\[ \t]*$", text, re.MULTILINE):
        raise No("It has a line that ends with a backslash.")
    if "??/" in text:
        raise No("It has a trigraph.")
    if mark := re.search(rf"//[ \t]*(\[(?:end )?(?:{'|'.join(names)})\])", text):
        raise No(f"It has a line `// {mark[1]}` of its own between the marks.")


def require_pragma(tokens, place):
    """The place behind a directive, of which one is taken: `#pragma unroll`, with a number or an expression."""
    line = tokens[place].location.line
    behind = place + 1
    while behind < len(tokens) and tokens[behind].location.line == line:
        behind += 1
    words = [token.spelling for token in tokens[place + 1:behind] if token.kind.name != "COMMENT"]
    plain = all(re.fullmatch(r"\w+|::|[()+*/%?:~!^&|<>=-]{1,2}", word) for word in words)
    first = place == 0 or tokens[place - 1].extent.end.line < line
    if not first or words[:1] != ["pragma"] or words[1:2] not in (["unroll"], ["nounroll"]) or not plain:
        raise No("It has a '#': nothing between the marks is for the preprocessor but `#pragma unroll`.")
    return behind


def is_unroll(tokens, place):
    """Whether a word begins `_Pragma("unroll")`, with a number or without."""
    words = [token.spelling for token in tokens[place + 1:place + 4]]
    return len(words) == 3 and words[0] == "(" and UNROLL.fullmatch(words[1]) and words[2] == ")"


def has_assembly(own, host):
    """Whether the author's program has assembly, which is PTX and runs on the emulator: in itself, or by common/ptx."""
    return not host and any(word in ASSEMBLY or word.startswith('"ptx/') for word in own[1])


def require_identifier(word, own, macros, host):
    """own: the words of the author's regions, those of his program, and the names of fields; macros: {name: its definition}."""
    if word in own[0]:
        return
    if not re.fullmatch(r"\w+", word, re.ASCII):
        raise No(f"It has the word `{word}`, which is not of ASCII's letters.")
    if word in OF_KERNELS:
        raise No(f"It has the word `{word}`, which does not belong between these marks.")
    if word in HINTS:
        return
    if word in ASSEMBLY or INNER.fullmatch(word) or not host and HOST.fullmatch(word):
        raise No(f"It has the word `{word}`, which does not belong between these marks.")
    if MACROS.fullmatch(word):
        return
    if word.startswith("__") and word not in words_of_cuda() and word not in own[1]:
        raise No(f"It has the word `{word}`, which is not one of CUDA's.")
    foreign = word in macros and not declared_in(macros[word]).startswith((str(EMULATOR), str(COMMON), FILE))
    if foreign and word not in own[1]:
        raise No(f"It uses the macro `{word}`, which does not belong between these marks.")


def require_tokens(tokens, own, macros, host):
    place, still_open = 0, []
    while place < len(tokens):
        kind, word = tokens[place].kind.name, tokens[place].spelling
        if word == "#":
            place = require_pragma(tokens, place)
            continue
        if word == "_Pragma" and is_unroll(tokens, place):
            place += 4
            continue
        if word in ASSEMBLY and has_assembly(own, host):
            place += 1
            continue
        if kind == "LITERAL":
            if not (NUMBER.fullmatch(word) or STRING.fullmatch(word) or CHARACTER.fullmatch(word)):
                shown = word if len(word) < 40 else word[:40] + "…"
                raise No(f"It has `{shown}`, which is no plain number, character or string.")
        elif kind == "KEYWORD":
            if word not in KEYWORDS and word not in own[0]:
                raise No(f"It has the word `{word}`, which does not belong between these marks.")
            if word == "class" and (place == 0 or tokens[place - 1].spelling != "enum"):
                raise No("It has the word `class`, which does not belong between these marks.")
            if word == "extern" and "__shared__" not in [token.spelling for token in tokens[max(0, place - 1):place + 2]]:
                raise No("It has the word `extern` without `__shared__`.")
        elif kind == "IDENTIFIER":
            require_identifier(word, own, macros, host)
        elif kind == "PUNCTUATION":
            if word not in PUNCTUATION and word not in KEYWORDS and word not in own[0]:
                raise No(f"It has a '{word}', which does not belong between these marks.")
            if word == "<<<" and not host:
                raise No("It has a launch, which only host code has here.")
            require_attribute(tokens, place)
            require_head(tokens, place)
            require_closed(word, still_open)
        place += 1
    if still_open:
        raise No(f"It leaves a '{still_open[-1]}' open.")


def require_attribute(tokens, place):
    """Of `[[…]]` the standard's own, one at a time: others may say more than statements do."""
    words = [token.spelling for token in tokens[place:place + 5]]
    if words[:2] == ["[", "["] and not (len(words) == 5 and words[2] in ATTRIBUTES and words[3:] == ["]", "]"]):
        raise No("It has an attribute that does not belong between these marks.")


def require_head(tokens, place):
    """Refuse, at an opening parenthesis, what libclang does not show all parts of: a declaration in front of a switch's value or
    of a loop's range. And, before the tree is asked, the type of a pointer to a function: (*)(…)."""
    before, words = tokens[place - 1].spelling if place else "", [token.spelling for token in tokens[place:place + 5]]
    if words[:1] != ["("]:
        return
    pointer = words[1:2] in (["*"], ["&"]) and (words[2:4] == [")", "("] or words[3:5] == [")", "("])
    if pointer and before not in ("if", "while", "switch", "for", "constexpr", "return"):
        raise No("It has a pointer to a function.")
    if before not in ("switch", "for"):
        return
    depth, semicolons = 0, 0
    for token in tokens[place:]:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.spelling, 0)
        semicolons += token.spelling == ";" and depth == 1
        if depth == 0:
            break
    if semicolons not in ((0,) if before == "switch" else (0, 2)):
        raise No(f"It has a declaration in the head of a `{before}` that does not belong there.")


def require_closed(word, still_open):
    if word in ("(", "[", "{"):
        still_open.append(word)
    if word in (")", "]", "}") and (not still_open or still_open.pop() + word not in ("()", "[]", "{}")):
        raise No(f"It closes a '{word}' that it has not opened.")


# ---- the tree ----

def peeled(cursor):
    """An expression without its parentheses and implicit casts."""
    while cursor.kind.name in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
        inner = list(cursor.get_children())
        if len(inner) != 1:
            break
        cursor = inner[0]
    return cursor


def declared_in(cursor):
    """The file of a declaration; the compiler's own functions have none."""
    file = cursor.location.file
    return file.name if file else ""


def is_lambda(variable):
    return variable.kind.name == "VAR_DECL" and any(peeled(each).kind.name == "LAMBDA_EXPR" for each in variable.get_children())


def require_function(function, host, own):
    """Refuse the call of a function that is neither the program's, nor CUDA's, nor C's or C++'s for numbers and memory."""
    name, file = function.spelling.partition("<")[0] or function.spelling, declared_in(function)
    if name in own[0]:
        return
    if function.kind.name == "OVERLOADED_DECL_REF":
        for each in overloads(function):
            require_function(each, host, own)
        return
    if file.startswith((FILE, str(EMULATOR))) and function.kind.name in METHODS:
        known = True
    elif host:
        known = HOST_CALLS.fullmatch(name) or OF_C.fullmatch(name)
    elif file == FILE:
        known = not HOST.fullmatch(name)
    elif file.startswith(str(EMULATOR)):
        known = not CUDAS.fullmatch(name)
    elif file.startswith(str(COMMON)):
        known = function.get_definition() is not None
    else:
        known = any(names.fullmatch(name) for names in (OF_C, OF_MEMORY, OF_CPP))
    if not known:
        raise No(f"It calls `{name}`." if host else f"It calls `{name}`, which no kernel can call on a GPU.")


def overloads(cursor):
    """The functions that a name may mean."""
    from clang.cindex import conf
    return [conf.lib.clang_getOverloadedDecl(cursor, index) for index in range(conf.lib.clang_getNumOverloadedDecls(cursor))]


CASTS = {"CSTYLE_CAST_EXPR", "CXX_REINTERPRET_CAST_EXPR", "CXX_STATIC_CAST_EXPR", "CXX_FUNCTIONAL_CAST_EXPR"}
CHANGING = re.compile(r"operator(?:(?:[+*/%^&|-]|<<|>>)?=|\+\+|--)")
METHODS = {"CONSTRUCTOR", "CONVERSION_FUNCTION", "DESTRUCTOR", "CXX_METHOD"}
CALLEES = {"DECL_REF_EXPR", "MEMBER_REF_EXPR", "OVERLOADED_DECL_REF", "TYPE_REF", "LAMBDA_EXPR"}
NO_FUNCTION = "It calls what is not a function's name."
FUNCTIONS = {*METHODS, "FUNCTION_DECL", "FUNCTION_TEMPLATE", "OVERLOADED_DECL_REF"}


def open_name(cursor):
    """Of an expression that is a name of several functions, before it is known which: that name's cursor; else None."""
    inner = [each for each in cursor.get_children() if each.kind.name == "OVERLOADED_DECL_REF"]
    return next(iter(inner), None) if cursor.kind.name in ("DECL_REF_EXPR", "MEMBER_REF_EXPR") else None


def require_call(call, host, own):
    """Refuse a call of anything but a function by its name. Returns the cursors that are still to be looked at."""
    children = list(call.get_children())
    called = call.referenced
    if called is not None and (called.kind.name in METHODS and called.kind.name != "CXX_METHOD" or called.spelling.startswith("operator")):
        if not (called.spelling.startswith("operator()") and is_of_lambda(called)):
            require_function(called, host, own)
        return [each for each in children if not is_function(peeled(each))]
    names = [open_name(peeled(each)) for each in children]
    operators = [each for each, name in zip(children, names) if name is not None and re.match(r"operator\W", name.spelling)]
    if operators:  # of types that a template leaves open
        return [each for each in children if each not in operators]
    if not children:
        raise No(NO_FUNCTION)
    callee, target = peeled(children[0]), called or peeled(children[0]).referenced
    if called is None and callee.kind.name not in CALLEES:
        raise No(NO_FUNCTION)
    if target is not None and target.kind.name in FUNCTIONS:
        require_function(target, host, own)
    elif names[0] is not None:
        require_function(names[0], host, own)
    elif callee.kind.name == "TYPE_REF" or target is None and callee.kind.name == "MEMBER_REF_EXPR":  # left open by a template
        if last_name(callee) in own[2]:
            raise No(NO_FUNCTION)
    elif target is None and callee.kind.name == "LAMBDA_EXPR":
        return children
    elif target is None or not (is_lambda(target) or is_of_own_struct(target)):
        raise No(NO_FUNCTION)
    rest = [*(callee.get_children() if callee.kind.name == "MEMBER_REF_EXPR" else ()), *children[1:]]
    if TAKES_KERNEL.match(call.spelling):
        rest = [each for each in rest if not is_kernel(as_pointer(each))]
    if children[0].kind.name == "CALL_EXPR" and children[0].spelling == "__cudaPushCallConfiguration":
        rest = [callee, *rest]
    return [each for each in rest if each.kind.name != "OVERLOADED_DECL_REF"]


def last_name(cursor):
    """The last word of an expression: of a member that a template leaves open, its name."""
    words = [token.spelling for token in cursor.get_tokens() if token.kind.name == "IDENTIFIER"]
    return words[-1] if words else ""


def is_of_own_struct(variable):
    """Whether a variable's operator() is the program's own, where a template leaves open which that is."""
    declared = variable.type.get_canonical().get_declaration()
    return variable.kind.name in ("VAR_DECL", "PARM_DECL") and declared.kind.name == "STRUCT_DECL" and declared_in(declared) == FILE


def as_pointer(cursor):
    """An expression without its casts to void *, which a kernel's name may have."""
    cursor = peeled(cursor)
    while cursor.kind.name in CASTS and re.fullmatch(r"(?:const )?void \*", cursor.type.get_canonical().spelling):
        cursor = peeled(list(cursor.get_children())[-1])
    return cursor


def is_kernel(cursor):
    return is_function(cursor) and declared_in(cursor.referenced) == FILE and not HOST.fullmatch(cursor.spelling)


def is_of_lambda(operator):
    return "lambda" in operator.semantic_parent.spelling or operator.semantic_parent.spelling == ""


def is_function(cursor):
    """Whether an expression is the name of a function, or of several."""
    meant = cursor.referenced if cursor.kind.name in ("DECL_REF_EXPR", "MEMBER_REF_EXPR") else cursor
    if meant is None or meant.kind.name != "OVERLOADED_DECL_REF":
        return meant is not None and meant != cursor and meant.kind.name in FUNCTIONS
    return any(each.kind.name in FUNCTIONS for each in overloads(meant))


def require_part(cursor, host, own):
    """Refuse a part that is not of the kinds listed. Returns the cursors below it that are still to be looked at."""
    kind = cursor.kind.name
    if kind not in KINDS and not (kind == "ASM_STMT" and has_assembly(own, host)):
        raise No(f"It has {PARTS.get(kind, 'a part of C++ (' + kind.lower() + ')')}, which does not belong between these marks.")
    if host:
        require_variable_changed(cursor)
    if kind == "CALL_EXPR":
        return require_call(cursor, host, own)
    if kind == "USING_DECLARATION":
        for each in cursor.get_children():
            if each.kind.name == "OVERLOADED_DECL_REF":
                require_function(each, host, own)
        return []
    if is_function(cursor):
        raise No(f"It names the function `{cursor.spelling}` without calling it.")
    types = [] if kind in METHODS else [cursor.type.spelling, cursor.type.get_canonical().spelling]
    if any(map(FUNCTION_TYPE.search, types)):
        raise No("It has a pointer to a function.")
    if kind == "DECL_REF_EXPR" and is_variable_of_the_system(cursor.referenced):
        raise No(f"It uses `{cursor.spelling}`, which no kernel can.")
    return list(cursor.get_children())


def is_variable_of_the_system(declared):
    """stdout, environ and their like; what stands in a namespace or a class is not."""
    return declared is not None and declared.kind.name == "VAR_DECL" and declared.semantic_parent is not None and \
        declared.semantic_parent.kind.name in ("TRANSLATION_UNIT", "LINKAGE_SPEC") and \
        not declared_in(declared).startswith((FILE, str(EMULATOR), str(COMMON)))


def require_variable_changed(cursor):
    """Host code changes its own variables: what lies in memory is the kernel's, and CUDA's to copy."""
    kind, called = cursor.kind.name, cursor.spelling
    changes = kind in ("COMPOUND_ASSIGNMENT_OPERATOR", "CXX_NEW_EXPR") or kind == "CALL_EXPR" and CHANGING.fullmatch(called) or \
        kind in ("BINARY_OPERATOR", "UNARY_OPERATOR") and CHANGING.fullmatch(f"operator{operator_of(cursor)}")
    if not changes:
        return
    target = next(map(peeled, cursor.get_children()), cursor)
    if kind == "CXX_NEW_EXPR" or not is_own_variable(target):
        raise No("It is host code that stores into an array or through a pointer: that is the kernel's work.")


def is_own_variable(cursor):
    """Whether an expression is a variable, or a member of one, and no reference to something else."""
    while cursor.kind.name == "MEMBER_REF_EXPR":
        inner = next(map(peeled, cursor.get_children()), None)
        if cursor.referenced is None or inner is None or "&" in of_type(cursor.referenced) or "*" in of_type(inner):
            return False
        cursor = inner
    return cursor.kind.name == "DECL_REF_EXPR" and cursor.referenced.kind.name in ("VAR_DECL", "PARM_DECL") and \
        "&" not in of_type(cursor.referenced)


def of_type(cursor):
    return cursor.type.get_canonical().spelling


def operator_of(cursor):
    """The operator of an expression, as it is written."""
    operands = list(cursor.get_children())
    start, end = cursor.extent.start.offset, cursor.extent.end.offset
    tokens = [token for token in cursor.get_tokens() if start <= token.extent.start.offset < end]
    if len(operands) == 1:
        words = {tokens[0].spelling, tokens[-1].spelling} if tokens else set()
        return next((word for word in ("++", "--") if word in words), "")
    behind = [token.spelling for token in tokens if token.extent.start.offset >= operands[0].extent.end.offset]
    return next((word for word in behind if word != ")"), "")


class Read:
    """A program as libclang reads it, its regions by their offsets."""

    def __init__(self, text, names, host, arguments):
        from clang import cindex
        self.cindex = cindex
        options = cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        try:
            words = [*arguments, *(["-include", KERNELS[0]] if host else [])]
            self.unit = cindex.Index.create().parse(FILE, words, [(FILE, text), KERNELS], options)
        except cindex.TranslationUnitLoadError:
            raise No(TOO_MUCH) from None
        self.text = text
        self.regions = {found["name"]: tuple(len(text[:place].encode()) for place in found.span("text"))
                        for found in exercises.region(tuple(names)).finditer(text)}
        self.top, self.macros = [], {}  # what the program declares, and each macro's last definition: of thousands, few are asked about
        for cursor in self.unit.cursor.get_children():
            if cursor.kind.name == "MACRO_DEFINITION":
                self.macros[cursor.spelling] = cursor
            elif not cursor.kind.is_preprocessing() and declared_in(cursor) == FILE:
                self.top.append(cursor)

    def tokens(self, region):
        file = self.unit.get_file(FILE)
        begin, end = (self.cindex.SourceLocation.from_offset(self.unit, file, offset) for offset in self.regions[region])
        found = self.unit.get_tokens(extent=self.cindex.SourceRange.from_locations(begin, end))
        return [token for token in found if self.regions[region][0] <= token.extent.start.offset < self.regions[region][1]]

    def errors(self):
        """[(line, clang's words)]"""
        return [(one.location.line, one.spelling) for one in self.unit.diagnostics if one.severity >= 3 and one.location.file
                and one.location.file.name == FILE and not WAIVED.search(one.spelling)]

    def declarations(self):
        """What the program declares, whatever stands between its marks."""
        return [(cursor.kind.name, re.sub(r":\d+:\d+\)", ")", cursor.spelling)) for cursor in self.top]

    def fields(self, region):
        """The fields of structs that are declared in a region."""
        return [each for part in self.parts(region)[0] for each in part.walk_preorder() if each.kind.name == "FIELD_DECL"]

    def parts(self, region):
        """(cursors that stand in a region, kinds of those that reach across one of its ends)."""
        first, last = self.regions[region]
        inside, across = [], []
        waiting = list(self.top)
        while waiting:
            cursor = waiting.pop()
            start, end = cursor.extent.start.offset, cursor.extent.end.offset
            if start >= last or end <= first:
                continue
            if first <= start and end <= last:
                inside.append(cursor)
                continue
            if not (start < first and last < end):
                across.append(cursor.kind.name)
            waiting += cursor.get_children()
        return inside, sorted(across)


def require_statements(mine, authors, names, host):
    """Refuse a program whose regions hold more than statements, beside the author's program."""
    own_words = {token.spelling for name in names for token in authors.tokens(name)}
    fields = {"first", "second"} | {each.spelling for name in names for each in mine.fields(name)}
    own = own_words, {token.spelling for token in authors.unit.get_tokens(extent=authors.unit.cursor.extent)}, fields
    for name in names:
        require_tokens(mine.tokens(name), own, mine.macros, host)
    known = {said for _, said in authors.errors()}
    for line, said in mine.errors():
        if said not in known:
            raise No(f"It does not compile.\n{Path(FILE).name}:{line}: error: {said}")
    if mine.declarations() != authors.declarations():
        raise No("It has more than statements: the program around it is read as another one.")
    for name in names:
        inside, across = mine.parts(name)
        if across != authors.parts(name)[1]:
            raise No("Its first or last statement goes on beyond the marks.")
        while inside:
            inside += require_part(inside.pop(), host, own)


def require_all(program, authors, names, host, arguments):
    """Refuse a program, which is read only where its characters are those of C++."""
    for found in exercises.region(tuple(names)).finditer(program):
        require_text(found["text"], names)
    require_statements(Read(program, names, host, arguments), authors, names, host)


def look_at(question):
    """The answer: why the program is refused, and why nothing can be said at all."""
    names, host, arguments = question["names"], question["host"], question["arguments"]
    try:
        authors = Read(question["authors"], names, host, arguments)
    except Exception as error:  # libclang's own
        return {"refused": None, "broken": f"libclang cannot be used: {error}"}
    try:
        require_statements(authors, authors, names, host)
    except No as error:
        return {"refused": None, "broken": f"The author's lines are refused here. {error}"}
    try:
        if question["program"] != question["authors"]:
            require_all(question["program"], authors, names, host, arguments)
    except No as error:
        return {"refused": str(error), "broken": None}
    return {"refused": None, "broken": None}


# ---- the question ----

@functools.cache
def arguments():
    """What libclang is told: where the headers of this machine's compiler are, and the emulator's."""
    compiler = machine.compiler() or stop(machine.compiler_trouble())
    done = subprocess.run([*compiler, "-E", "-v", "-x", "c++", "/dev/null"], capture_output=True, text=True, errors="replace",
                          env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}, stdin=subprocess.DEVNULL)
    found = re.search(r"^#include <\.\.\.> search starts here:\n(.*?)^End of search", done.stderr, re.MULTILINE | re.DOTALL)
    folders = [line.strip() for line in found[1].splitlines()] if found else []
    return [*OPTIONS, *(word for folder in folders for word in ("-isystem", folder))]


def objection(name, program, authors, names, host):
    """Why the regions of a program, a file of that name, get no credit, in a sentence; None where they are statements. authors:
    the same, solved by the author. Stops where libclang cannot read the author's."""
    question = {"program": program, "authors": authors, "names": list(names), "host": host, "arguments": arguments()}
    start = "import sys; sys.path[:] = sys.argv[1:]; from tools import statements; statements.main()"
    try:
        done = subprocess.run([sys.executable, "-E", "-X", "utf8", "-c", start, *sys.path], cwd=ROOT, input=json.dumps(question),
                              capture_output=True, text=True, errors="replace", timeout=3 * SECONDS)
    except subprocess.TimeoutExpired:
        return TOO_MUCH
    if done.returncode < 0:
        return TOO_MUCH
    if done.returncode:
        stop(f"libclang cannot be used: {(done.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
    answer = json.loads(done.stdout)
    if answer["broken"]:
        stop(answer["broken"])
    return answer["refused"] and answer["refused"].replace(Path(FILE).name, name)


def main():
    """Answer the question on the standard input: {"program", "authors", "names", "host", "arguments"}, in JSON as the answer."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = look_at(json.load(sys.stdin))
    except MemoryError:
        answer = {"refused": TOO_MUCH, "broken": None}
    json.dump(answer, sys.stdout)
