package prompts

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template/parse"
)

// functions are those that a template can call.
var functions = map[string]any{
	"and": true, "or": true, // known to command: they stop at the argument that decides
	"not":   func(args []any) any { return !truth(args[0]) },
	"len":   func(args []any) any { return reflect.ValueOf(args[0]).Len() },
	"print": func(args []any) any { return fmt.Sprint(args...) },
	"printf": func(args []any) any {
		return fmt.Sprintf(args[0].(string), args[1:]...)
	},
	"eq": func(args []any) any {
		for _, other := range args[1:] {
			if order(args[0], other) == 0 {
				return true
			}
		}
		return false
	},
	"ne": func(args []any) any { return order(args[0], args[1]) != 0 },
	"lt": func(args []any) any { return order(args[0], args[1]) < 0 },
	"le": func(args []any) any { return order(args[0], args[1]) <= 0 },
	"gt": func(args []any) any { return order(args[0], args[1]) > 0 },
	"ge": func(args []any) any { return order(args[0], args[1]) >= 0 },
}

// Templates are parsed by text/template's own parser and carried out here:
// text/template finds methods by their names, and in a program that can do that
// the linker keeps every exported method of every type. It made the binary of
// the command 2.6 MB larger.
func execute(tree *parse.Tree, data any) (text string, err error) {
	r := &renderer{tree: tree, variables: []variable{{"$", reflect.ValueOf(data)}}}
	defer func() {
		if p := recover(); p != nil {
			at, context := tree.ErrorContext(r.at)
			err = fmt.Errorf("%s: at <%s>: %v", at, context, p)
		}
	}()
	r.walk(tree.Root, reflect.ValueOf(data))
	return r.out.String(), nil
}

type variable struct {
	name  string
	value reflect.Value
}

// renderer carries a template out. It panics with what is wrong at a node, as
// does reflect where a value is of another kind than needed.
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
	case *parse.CommentNode:
	case *parse.ActionNode:
		if v := r.pipe(n.Pipe, dot); len(n.Pipe.Decl) == 0 {
			fmt.Fprint(&r.out, v)
		}
	case *parse.IfNode:
		r.branch(n.BranchNode, dot)
	case *parse.WithNode:
		r.branch(n.BranchNode, dot)
	case *parse.RangeNode:
		r.branch(n.BranchNode, dot)
	default:
		panic(errors.New("prompts have if, with, range, variables and values"))
	}
}

// branch carries out if, with and range.
func (r *renderer) branch(n parse.BranchNode, dot reflect.Value) {
	outside := len(r.variables)
	defer func() { r.variables = r.variables[:outside] }()
	v := r.pipe(n.Pipe, dot)
	switch {
	case !truth(v) && n.ElseList != nil:
		r.walk(n.ElseList, dot)
	case !truth(v):
	case n.NodeType == parse.NodeIf:
		r.walk(n.List, dot)
	case n.NodeType == parse.NodeWith:
		r.walk(n.List, reflect.ValueOf(v))
	default:
		list, inside := reflect.ValueOf(v), len(r.variables)
		for i := range list.Len() {
			// The last variable is the element, one before it the index.
			for j, value := range []reflect.Value{list.Index(i), reflect.ValueOf(i)} {
				if j < len(n.Pipe.Decl) {
					r.variables[inside-1-j].value = value
				}
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
		if known := r.variable(d.Ident[0]); pipe.IsAssign && known != nil {
			known.value = reflect.ValueOf(v)
			continue
		}
		r.variables = append(r.variables, variable{d.Ident[0], reflect.ValueOf(v)})
	}
	return v
}

func (r *renderer) command(n *parse.CommandNode, dot reflect.Value, before []any) any {
	r.at = n
	name, called := n.Args[0].(*parse.IdentifierNode)
	if !called {
		if len(n.Args) > 1 || len(before) > 0 {
			panic(errors.New("this is no function"))
		}
		return r.value(n.Args[0], dot)
	}
	var args []any
	for _, arg := range n.Args[1:] {
		v := r.value(arg, dot)
		if name.Ident == "and" && !truth(v) || name.Ident == "or" && truth(v) {
			return v
		}
		args = append(args, v)
	}
	args = append(args, before...)
	if f, ok := functions[name.Ident].(func([]any) any); ok {
		return f(args)
	}
	return args[len(args)-1] // and, or: none decided
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
		if v := r.variable(n.Ident[0]); v != nil { // the parser knows them all
			return field(v.value, n.Ident[1:])
		}
	case *parse.PipeNode:
		return r.pipe(n, dot)
	case *parse.StringNode:
		return n.Text
	case *parse.BoolNode:
		return n.True
	case *parse.NumberNode:
		if n.IsInt {
			return int(n.Int64)
		}
		return n.Float64
	}
	panic(fmt.Errorf("%s is no value", node))
}

// variable is the innermost one of a name.
func (r *renderer) variable(name string) *variable {
	for i := len(r.variables) - 1; i >= 0; i-- {
		if r.variables[i].name == name {
			return &r.variables[i]
		}
	}
	return nil
}

func field(v reflect.Value, path []string) any {
	for _, name := range path {
		v = reflect.Indirect(v)
		if v.Kind() != reflect.Struct || !v.FieldByName(name).IsValid() {
			panic(fmt.Errorf("there is no field %s", name))
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
	case reflect.Slice, reflect.Map:
		return value.Len() > 0
	case reflect.Struct:
		return true
	}
	return !value.IsZero()
}

// order compares numbers, else texts.
func order(a, b any) int {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.CanInt() && y.CanInt() {
		return cmp.Compare(x.Int(), y.Int())
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
