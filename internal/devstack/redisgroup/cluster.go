package redisgroup

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tidemark/internal/devstack"
)

// clusterParts is the number of primaries that share the keys of a Cluster. Each has one replica.
const clusterParts = 3

// clusterSlots is the number of slots into which the protocol divides the keys.
const clusterSlots = 16384

// StartCluster runs a Cluster of three primaries with a replica each, and returns once it accepts writes. A primary that does not answer
// for 1.5 seconds is replaced by its replica. It needs Redis 7.0. ctx limits only the start. Nothing is left running after an error. On a
// machine without redis-server, the error is devstack.ErrNotInstalled.
func StartCluster(ctx context.Context, o Options) (_ *Group, err error) {
	g := &Group{}
	g.primaries = g.masters
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Stop(context.WithoutCancel(ctx)))
		}
	}()
	for i := range 2 * clusterParts {
		if err := g.add(ctx, o, fmt.Sprint("node", i+1), &g.servers, devstack.RedisOptions{AppendOnly: o.AppendOnly, More: g.asNode}); err != nil {
			return nil, err
		}
	}
	g.url = g.urlOf("redis-cluster", g.servers, "", "")
	info, err := g.ask(ctx, g.servers[0], "CLUSTER", "INFO")
	if err != nil {
		return nil, fmt.Errorf("ask a node of the Cluster: %w", err)
	}
	if !has(info, fmt.Sprintf("cluster_slots_assigned:%d", clusterSlots)) {
		if err := g.assemble(ctx); err != nil {
			return nil, err
		}
	}
	return g, settled(ctx, g.incomplete)
}

func (g *Group) asNode(_ context.Context, _ int, password string) []string {
	return []string{
		"cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 1500", "repl-diskless-sync-delay 0",
		"masterauth " + password,
	}
}

// assemble makes a Cluster of nodes that do not know each other. The first three share the slots; each other node follows one of them.
func (g *Group) assemble(ctx context.Context) error {
	ids := make([]string, len(g.servers))
	for i, s := range g.servers {
		id, err := g.ask(ctx, s, "CLUSTER", "MYID")
		if err != nil {
			return fmt.Errorf("ask a node of the Cluster: %w", err)
		}
		ids[i] = id
		steps := [][]string{{"CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i + 1)}}
		if i < clusterParts {
			steps = append(steps, []string{
				"CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i * clusterSlots / clusterParts), strconv.Itoa((i+1)*clusterSlots/clusterParts - 1),
			})
		}
		if i > 0 {
			steps = append(steps, []string{"CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(g.servers[0].Port())})
		}
		for _, step := range steps {
			if _, err := g.ask(ctx, s, step...); err != nil {
				return fmt.Errorf("set up a node of the Cluster (%s): %w", strings.Join(step[:2], " "), err)
			}
		}
	}
	for i, s := range g.servers[clusterParts:] {
		// A node can only follow a node that it already knows.
		err := settled(ctx, func(ctx context.Context) (string, error) {
			_, err := g.ask(ctx, s, "CLUSTER", "REPLICATE", ids[i])
			return "", err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// incomplete names a node that does not work yet.
func (g *Group) incomplete(ctx context.Context) (string, error) {
	for _, s := range g.servers {
		info, err := g.ask(ctx, s, "CLUSTER", "INFO")
		if err != nil || !has(info, "cluster_state:ok") || !has(info, fmt.Sprintf("cluster_known_nodes:%d", len(g.servers))) {
			return fmt.Sprintf("the node at port %d does not know everyone yet", s.Port()), err
		}
		info, err = g.ask(ctx, s, "INFO", "replication")
		if err != nil || has(info, "role:slave") && !has(info, "master_link_status:up") {
			return fmt.Sprintf("the replica at port %d has no content yet", s.Port()), err
		}
	}
	replicas, err := g.ask(ctx, g.servers[0], "CLUSTER", "NODES")
	if n := strings.Count(replicas, "slave "); err != nil || n != clusterParts {
		return fmt.Sprintf("%d of %d replicas are known", n, clusterParts), err
	}
	return "", nil
}

// masters returns the running nodes that report being primaries.
func (g *Group) masters(ctx context.Context) ([]*devstack.Server, error) {
	var list []*devstack.Server
	var errs []error
	for _, s := range g.servers {
		role, err := g.ask(ctx, s, "ROLE")
		if err != nil {
			errs = append(errs, err)
		} else if first, _, _ := strings.Cut(role, "\n"); first == "master" {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no node of the Cluster is a primary: %w", errors.Join(errs...))
	}
	return list, nil
}
