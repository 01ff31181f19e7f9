package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// stores lists which stores of internal/postgres a package uses: it may change the data of the first ones, and only read with the others. A
// package without a row uses none. The program, the benchmarks and the test suites may use all.
//
// Each store's comment lists the tables that it reads and writes. A package uses a store if it calls a method of it, or demands the method
// in an interface that a DB has. It also does if it calls a function of internal/postgres that takes the store. A function that the program
// passes to a package counts for the program.
var stores = []struct{ room, change, read string }{
	{"api", "KeyStore, PaymentStore, PushStore", "DatasetStore, FetchStore, LogStore, RecordStore"},
	{
		"api/view",
		"",
		"EquityStore, FetchStore, ForecastStore, LogStore, ObservationStore, OutsideRecordStore, PublicationStore, RecordStore, SnapshotStore",
	},
	{"backfill", "BackfillStore, ObservationStore", "FetchStore, SnapshotStore"},
	{"ingest", "FetchStore", ""},
	{"ingest/archive", "FetchStore, ObservationStore", ""},
	{"ingest/prices", "FetchStore", ""},
	{"internal/backup", "OperatorStore", "OutsideRecordStore, WorldStore"},
	{
		"internal/ops",
		"OperatorStore, QuarantineStore, RunStore",
		"BackfillStore, LogStore, OutsideRecordStore, PaymentStore, WorldStore",
	},
	{"scheduler", "RunStore", ""},
	{
		"workers",
		"DatasetStore, EquityStore, ForecastStore, KeyStore, LogStore, ObservationStore, OperatorStore, OutsideRecordStore, PaymentStore, PublicationStore, PushStore, QuarantineStore, RecordStore, RunStore, SnapshotStore",
		"WorldStore",
	},
}

// overlay is a room that takes its stores in every way that counts.
const overlay = `package overlay

import (
	"context"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

type announcer interface {
	AnnounceDue(ctx context.Context, f task.Fence, at time.Time) ([]postgres.Pick, error)
}

func change(ctx context.Context, db *postgres.DB, s postgres.ObservationStore, _ announcer) {
	_ = db.Heartbeat
	_ = postgres.NewCharger(db.KeyStore)
	_, _, _ = s.Progress(ctx, nil)
	var _ interface{ NewestPushes(context.Context, []string, int) ([]postgres.Push, error) }
}
`

// touchesOf returns the stores that a package changes, and those that it only reads.
func (all typed) touchesOf(path string, by map[string]touched) (change, read set) {
	change, read = set{}, set{}
	for method := range all.uses(path) {
		store, _, _ := strings.Cut(method, ".")
		if m, ok := by[method]; ok && len(m.writes) == 0 {
			read[store] = true
		} else {
			change[store] = true
		}
	}
	maps.DeleteFunc(read, func(store string, _ bool) bool { return change[store] })
	return change, read
}

func TestStoresOfTheDatabase(t *testing.T) {
	t.Parallel()
	all := typecheck(t)
	by, others := all.contents(readSchema(t))

	all.check(t, module+"/overlay", []*ast.File{all.parse(t, "overlay.go", overlay)})
	change, read := all.touchesOf(module+"/overlay", by)
	if diff := gocmp.Diff([]string{"KeyStore, RecordStore, RunStore", "ObservationStore, PushStore"}, []string{change.String(), read.String()}); diff != "" {
		t.Errorf("stores of the room that takes them in every way: changed, then only read (-want +got):\n%s", diff)
	}
	delete(all.infos, module+"/overlay")

	for store := range others {
		want := fmt.Sprintf("It reads %s. It writes %s.", cmp.Or(by[store].reads.String(), "nothing"), cmp.Or(by[store].writes.String(), "nothing"))
		if len(others[store]) > 0 {
			want += fmt.Sprintf(" It uses %s.", others[store])
		}
		if !strings.HasSuffix(all.docs[store], want) {
			t.Errorf("the comment of postgres.%s must end with %q, and is:\n%s", store, want, all.docs[store])
		}
	}

	named := set{}
	for _, r := range stores {
		named[r.room] = true
	}
	for _, path := range slices.Sorted(maps.Keys(all.infos)) {
		name, _ := room(path)
		if name == "internal/postgres" {
			continue
		}
		change, read := all.touchesOf(path, by)
		i := slices.IndexFunc(stores, func(r struct{ room, change, read string }) bool { return r.room == name })
		switch {
		case i < 0 && len(change)+len(read) == 0:
		case i < 0:
			t.Errorf("%s has no row in the table of stores, and changes %q and reads %q", name, change, read)
		default:
			if diff := gocmp.Diff([]string{stores[i].change, stores[i].read}, []string{change.String(), read.String()}); diff != "" {
				t.Errorf("%s uses other stores than its row says (changes, then only reads; -row +code):\n%s", name, diff)
			}
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("the table of stores has a row for %s, which is no package of this module", name)
	}
}

// storeOf returns the store whose method an object is, or "". A method of a type that keeps a store is one of that store.
func storeOf(o types.Object) string {
	f, ok := o.(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != postgres || f.Signature().Recv() == nil {
		return ""
	}
	receiver := f.Signature().Recv().Type()
	if p, ok := receiver.(*types.Pointer); ok {
		receiver = p.Elem()
	}
	if name := storeName(receiver); name != "" {
		return name
	}
	s, ok := receiver.Underlying().(*types.Struct)
	for i := 0; ok && i < s.NumFields(); i++ {
		if name := storeName(s.Field(i).Type()); name != "" && !s.Field(i).Embedded() {
			return name
		}
	}
	return ""
}

// storeName returns the name of a type if it is a store, or "".
func storeName(t types.Type) string {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != postgres || !strings.HasSuffix(n.Obj().Name(), "Store") {
		return ""
	}
	return n.Obj().Name()
}

// contents returns what each store and each of its methods reads and writes, by "Store" and "Store.Method", and the other stores that a
// store uses. A method has what the functions and statements have that it names, except other stores and the fence.
func (all typed) contents(s schema) (by map[string]touched, others map[string]set) {
	by, others = map[string]touched{}, map[string]set{}
	info, bodies := all.infos[postgres], all.bodies
	for o := range bodies {
		store := storeOf(o)
		if store == "" {
			continue
		}
		if others[store] == nil {
			by[store], others[store] = touched{set{}, set{}}, set{}
		}
		found, seen := touched{set{}, set{}}, map[types.Object]bool{o: true}
		for next := []types.Object{o}; len(next) > 0; next = next[1:] {
			ast.Inspect(bodies[next[0]], func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					to := info.Uses[n]
					if f, ok := to.(*types.Func); ok {
						to = f.Origin()
					}
					if other := storeOf(to); other != "" && other != store {
						others[store][other] = true
					} else if bodies[to] != nil && !seen[to] && to.Name() != "checkFence" {
						seen[to] = true
						next = append(next, to)
					}
				case *ast.BasicLit:
					if strings.HasPrefix(n.Value, "`") {
						found.add(s.statement(strings.Trim(n.Value, "`")))
					}
				case *ast.CallExpr:
					if table := copied(n); s.tables[table] {
						found.writes[table] = true
					}
				}
				return true
			})
		}
		by[store].add(found)
		by[store+"."+o.Name()] = found
	}
	return by, others
}

// copied returns the table that a call copies rows to, or "".
func copied(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "CopyFrom" && sel.Sel.Name != "copyTo" {
		return ""
	}
	for _, arg := range call.Args {
		if list, ok := arg.(*ast.CompositeLit); ok && len(list.Elts) == 1 { // pgx.Identifier{"runs"}
			arg = list.Elts[0]
		}
		if lit, ok := arg.(*ast.BasicLit); ok {
			return strings.Trim(lit.Value, `"`)
		}
	}
	return ""
}

// uses returns the methods of stores that a package uses, "Store.Method".
func (all typed) uses(path string) set {
	found := set{}
	count := func(o types.Object) {
		if store := storeOf(o); store != "" {
			found[store+"."+o.Name()] = true
		}
	}
	for _, o := range all.infos[path].Uses {
		count(o)
		f, ok := o.(*types.Func)
		if !ok || f.Pkg() == nil || f.Pkg().Path() != postgres || f.Signature().Recv() != nil {
			continue
		}
		for v := range f.Signature().Params().Variables() {
			if store := storeName(v.Type()); store != "" {
				found[store+"."+f.Name()] = true
			}
		}
	}
	for _, tv := range all.infos[path].Types {
		if !tv.IsType() {
			continue
		}
		demanded, ok := tv.Type.Underlying().(*types.Interface)
		if !ok || !types.Implements(all.db, demanded) {
			continue
		}
		for m := range demanded.Methods() {
			method, _, _ := types.LookupFieldOrMethod(all.db, true, nil, m.Name())
			count(method)
		}
	}
	return found
}
