package prompts

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"text/template/parse"
)

// compile parses a template and refuses what execute does not carry out.
func compile(path, source string) (*parse.Tree, error) {
	trees := map[string]*parse.Tree{}
	tree, err := parse.New(path).Parse(source, "", "", trees, functions)
	if err != nil {
		return nil, err
	}
	if node := unsupported(tree.Root); node != nil {
		at, _ := tree.ErrorContext(node)
		return nil, fmt.Errorf("%s: %s is not supported", at, node)
	}
	for _, other := range trees {
		if other != tree {
			at, _ := other.ErrorContext(other.Root)
			return nil, fmt.Errorf("%s: {{define}} is not supported", at)
		}
	}
	return tree, nil
}

// unsupported is the first of the nodes that execute does not carry out.
func unsupported(list *parse.ListNode) parse.Node {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		var n parse.BranchNode
		switch node := node.(type) {
		case *parse.BreakNode, *parse.ContinueNode, *parse.TemplateNode:
			return node
		case *parse.IfNode:
			n = node.BranchNode
		case *parse.WithNode:
			n = node.BranchNode
		case *parse.RangeNode:
			n = node.BranchNode
		}
		if found := cmp.Or(unsupported(n.List), unsupported(n.ElseList)); found != nil {
			return found
		}
	}
	return nil
}

// Templates are parsed by text/template's own parser and carried out here:
// text/template finds methods by their names, and in a program that can do that
// the linker keeps every exported method of every type. It made the binary of
// the command 2.6 MB larger.
func execute(tree *parse.Tree, data any) (text string, err error) {
	r := &renderer{tree: tree, variables: []variable{{"$", reflect.ValueOf(data)}}}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case fault:
			at, context := tree.ErrorContext(r.at)
			err = fmt.Errorf("%s: at <%s>: %s", at, context, string(p))
		default:
			panic(p)
		}
	}()
	r.walk(tree.Root, reflect.ValueOf(data))
	return r.out.String(), nil
}

type variable struct {
	name  string
	value reflect.Value
}

// fault is what is wrong with a template at the node that is carried out.
type fault string

func fail(format string, args ...any) { panic(fault(fmt.Sprintf(format, args...))) }

// renderer carries a template out. It panics with a fault.
type renderer struct {
	tree      *parse.Tree
	at        parse.Node
	out       strings.Builder
	variables []variable
}

func (r *renderer) walk(node parse.Node, dot reflect.Value) {
	r.at = node
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			r.walk(child, dot)
		}
	case *parse.TextNode:
		r.out.Write(n.Text)
	case *parse.ActionNode:
		if v := r.pipe(n.Pipe, dot); len(n.Pipe.Decl) == 0 {
			r.print(v)
		}
	case *parse.IfNode:
		r.branch(n.BranchNode, dot)
	case *parse.WithNode:
		r.branch(n.BranchNode, dot)
	case *parse.RangeNode:
		r.branch(n.BranchNode, dot)
	}
}

func (r *renderer) print(v any) {
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Pointer && !value.IsNil() {
		v = value.Elem().Interface()
	}
	if v == nil {
		v = "<no value>"
	}
	fmt.Fprint(&r.out, v)
}

// branch carries out if, with and range.
func (r *renderer) branch(n parse.BranchNode, dot reflect.Value) {
	outside := len(r.variables)
	defer func() { r.variables = r.variables[:outside] }()
	v := r.pipe(n.Pipe, dot)
	list := reflect.ValueOf(v)
	if n.NodeType == parse.NodeRange && list.IsValid() && list.Kind() != reflect.Slice {
		fail("range needs a list, not %T", v)
	}
	switch {
	case !truth(v):
		if n.ElseList != nil {
			r.walk(n.ElseList, dot)
		}
	case n.NodeType == parse.NodeIf:
		r.walk(n.List, dot)
	case n.NodeType == parse.NodeWith:
		r.walk(n.List, list)
	default:
		inside, names := len(r.variables), n.Pipe.Decl
		for i := range list.Len() {
			// The last variable is the element, one before it the index.
			values := []reflect.Value{reflect.ValueOf(i), list.Index(i)}[2-len(names):]
			for j, name := range names {
				r.variable(name.Ident[0]).value = values[j]
			}
			r.walk(n.List, list.Index(i))
			r.variables = r.variables[:inside]
		}
	}
}

// pipe is the value of a pipeline: each command gets the one before it as its
// last argument.
func (r *renderer) pipe(pipe *parse.PipeNode, dot reflect.Value) (v any) {
	for i, command := range pipe.Cmds {
		before := []any{v}
		if i == 0 {
			before = nil
		}
		v = r.command(command, dot, before)
	}
	for _, d := range pipe.Decl {
		if pipe.IsAssign {
			r.variable(d.Ident[0]).value = reflect.ValueOf(v)
		} else {
			r.variables = append(r.variables, variable{d.Ident[0], reflect.ValueOf(v)})
		}
	}
	return v
}

func (r *renderer) command(n *parse.CommandNode, dot reflect.Value, before []any) any {
	r.at = n
	name, called := n.Args[0].(*parse.IdentifierNode)
	if !called {
		if len(n.Args) > 1 || len(before) > 0 {
			fail("%s is not a function", n.Args[0])
		}
		if _, ok := n.Args[0].(*parse.NilNode); ok {
			fail("nil is not a command")
		}
		return r.value(n.Args[0], dot)
	}
	f := functions[name.Ident].(function) // the parser refuses others
	if got := len(n.Args) - 1 + len(before); got < f.least || got > f.most {
		fail("%s needs %s, got %d", name.Ident, f.arguments(), got)
	}
	var args []any
	for _, arg := range n.Args[1:] {
		v := r.value(arg, dot)
		if name.Ident == "and" && !truth(v) || name.Ident == "or" && truth(v) {
			return v
		}
		args = append(args, v)
	}
	r.at = n
	v, err := f.call(append(args, before...))
	if err != nil {
		fail("%s: %v", name.Ident, err)
	}
	return v
}

func (r *renderer) value(node parse.Node, dot reflect.Value) any {
	r.at = node
	switch n := node.(type) {
	case *parse.DotNode:
		return plain(dot)
	case *parse.FieldNode:
		return field(dot, n.Ident)
	case *parse.ChainNode:
		return field(reflect.ValueOf(r.value(n.Node, dot)), n.Field)
	case *parse.VariableNode:
		return field(r.variable(n.Ident[0]).value, n.Ident[1:])
	case *parse.PipeNode:
		return r.pipe(n, dot)
	case *parse.StringNode:
		return n.Text
	case *parse.BoolNode:
		return n.True
	case *parse.NumberNode:
		return number(n)
	case *parse.NilNode:
		return nil
	case *parse.IdentifierNode: // a function among the arguments
		return r.command(&parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{n}}, dot, nil)
	}
	fail("%s is not supported", node)
	return nil
}

// number is a whole number unless it is written as another one.
func number(n *parse.NumberNode) any {
	hex := strings.HasPrefix(strings.ToLower(n.Text), "0x") && !strings.ContainsAny(n.Text, "pP")
	switch {
	case n.IsComplex:
		fail("%s is not supported", n)
	case n.IsFloat && !hex && n.Text[0] != '\'' && strings.ContainsAny(n.Text, ".eEpP"):
		return n.Float64
	case !n.IsInt:
		fail("%s is too large", n)
	}
	return int(n.Int64)
}

// variable is the innermost one of a name. The parser takes an assignment for a
// declaration, so that there may be none.
func (r *renderer) variable(name string) *variable {
	for i := len(r.variables) - 1; i >= 0; i-- {
		if r.variables[i].name == name {
			return &r.variables[i]
		}
	}
	fail("undefined variable %s", name)
	return nil
}

func field(v reflect.Value, path []string) any {
	for _, name := range path {
		if isNil(v) {
			fail("%s of a value that is nil", name)
		}
		v = reflect.Indirect(v)
		if v.Kind() != reflect.Struct || !v.FieldByName(name).IsValid() {
			fail("%s has no field %s", v.Type(), name)
		}
		v = v.FieldByName(name)
	}
	return plain(v)
}

func plain(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

// truth is false for what is empty.
func truth(v any) bool {
	value := reflect.ValueOf(v)
	switch value.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Slice:
		return value.Len() > 0
	case reflect.Struct:
		return true
	}
	return !value.IsZero()
}

func isNil(v reflect.Value) bool {
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice) && v.IsNil()
}
