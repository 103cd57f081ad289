# Clusters of several hosts and of SLURM, on one machine, as root: network namespaces (iproute2), Debian's slurm-wlm and munge.
# EXALN_DATA: the folder of real data, docs/environment.md.
CLUSTER_QUERIES := build/cluster-queries.fasta

.PHONY: test-cluster bench-cluster

$(CLUSTER_QUERIES): setup
	@test -n "$(EXALN_DATA)" || { echo "test-cluster: set EXALN_DATA to the folder of real data" >&2; exit 1; }
	@mkdir -p build
	$(BIN)/exaln makedb --quiet --force --in $(EXALN_DATA)/protein/mmseqs_DB.fasta.gz --db build/cluster.exaln
	gzip -dc $(EXALN_DATA)/protein/mmseqs_QUERY.fasta.gz > $@

test-cluster: $(CLUSTER_QUERIES)
	$(BIN)/python tests/cluster/hosts.py $(CLUSTER_QUERIES) build/cluster.exaln
	tests/cluster/slurm.sh $(CLUSTER_QUERIES) build/cluster.exaln

# A job of about a minute on two fast cores: all queries twice. Two queries: against a synthetic Swiss-Prot.
bench-cluster: $(CLUSTER_QUERIES)
	sed 's/^>/>again_/' $(CLUSTER_QUERIES) | cat $(CLUSTER_QUERIES) - > build/cluster-queries-twice.fasta
	$(BIN)/python benchmarks/make_few_queries.py build
	$(BIN)/python benchmarks/cluster_overhead.py build/cluster-queries-twice.fasta build/cluster.exaln --only overhead
	$(BIN)/python benchmarks/cluster_overhead.py $(CLUSTER_QUERIES) build/cluster.exaln --only efficiency
	$(BIN)/python benchmarks/cluster_overhead.py build/few-queries.fasta build/few-targets.exaln --only efficiency
	$(BIN)/python benchmarks/cluster_simulation.py --check $(CLUSTER_QUERIES) build/cluster.exaln
	$(BIN)/python benchmarks/cluster_simulation.py
