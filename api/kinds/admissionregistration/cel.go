// The CEL expressions of webhooks and policies. They are compiled to find out
// whether they are well-formed; what evaluates them compiles them again.
package admissionregistration

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// expression is what the compiler wants to know of a text: its name, if it is a variable, and the types it may have.
type expression struct {
	name, text string
	types      []*celgo.Type
}

func (e *expression) GetName() string            { return e.name }
func (e *expression) GetExpression() string      { return e.text }
func (e *expression) ReturnTypes() []*celgo.Type { return e.types }

// compiler compiles the expressions of one object.
type compiler struct {
	plugincel.Compiler
	composed *plugincel.CompositedCompiler // nil when no variables can be declared
	params   bool                          // whether there is a variable params
}

// base is the compiler without variables. Its environment is made at the first expression: it costs as much as the
// whole start of the server.
var base = sync.OnceValue(func() plugincel.Compiler {
	return plugincel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// hookCompiler compiles match conditions of webhooks.
func hookCompiler() *compiler { return &compiler{Compiler: base()} }

// policyCompiler compiles the expressions of a policy. Those that come after a variable can use it.
func policyCompiler(variables []v1.Variable, params *v1.ParamKind) *compiler {
	c := &compiler{params: params != nil}
	if len(variables) == 0 {
		c.Compiler = base()
		return c
	}
	composed, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		c.Compiler = base()
		return c
	}
	c.Compiler, c.composed = composed, composed
	return c
}

func (c *compiler) declarations() plugincel.OptionalVariableDeclarations {
	return plugincel.OptionalVariableDeclarations{HasParams: c.params, HasAuthorizer: true}
}

func (c *compiler) check(text string, path *field.Path, types ...*celgo.Type) field.ErrorList {
	return c.compile(text, text, path, c.declarations(), types...)
}

// message is check without the authorizer, which a message may not ask.
func (c *compiler) message(text string, path *field.Path) field.ErrorList {
	d := c.declarations()
	d.HasAuthorizer = false
	return c.compile(text, text, path, d, celgo.StringType)
}

// annotation leaves blanks at the ends out of what is compiled, but not of what is printed.
func (c *compiler) annotation(text string, path *field.Path) field.ErrorList {
	return c.compile(strings.TrimSpace(text), text, path, c.declarations(), celgo.StringType, celgo.NullType)
}

func (c *compiler) patch(text string, path *field.Path, result *celgo.Type) field.ErrorList {
	d := c.declarations()
	d.HasPatchTypes = true
	text = strings.TrimSpace(text)
	return c.compile(text, text, path, d, result)
}

func (c *compiler) variable(v *v1.Variable, path *field.Path) field.ErrorList {
	e := &expression{name: v.Name, text: v.Expression, types: []*celgo.Type{celgo.AnyType, celgo.DynType}}
	result := c.composed.CompileAndStoreVariable(e, c.declarations(), environment.NewExpressions)
	return compileFault(result.Error, v.Expression, path)
}

func (c *compiler) compile(text, printed string, path *field.Path, d plugincel.OptionalVariableDeclarations, types ...*celgo.Type) field.ErrorList {
	result := c.CompileCELExpression(&expression{text: text, types: types}, d, environment.NewExpressions)
	return compileFault(result.Error, printed, path)
}

func compileFault(err *apiservercel.Error, text string, path *field.Path) field.ErrorList {
	if err == nil {
		return nil
	}
	switch err.Type {
	case apiservercel.ErrorTypeRequired:
		return field.ErrorList{field.Required(path, err.Detail)}
	case apiservercel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, text, err.Detail)}
	}
	return field.ErrorList{field.InternalError(path, fmt.Errorf("compile expression: %w", errors.New(err.Error())))}
}
