#!/bin/bash
# A real SLURM of one node, from Debian's slurm-wlm and munge, in a folder of its own (as root): a search with
# --cluster slurm, and a job array of shards, each equal to the search on one machine. Usage: slurm.sh QUERIES DATABASE
set -euo pipefail
queries=$(realpath "$1") database=$(realpath "$2")
exaln=$(realpath "$(dirname "$0")/../../.venv/bin/exaln")
folder=$(mktemp -d /tmp/exaln-slurm-test-XXXX)
cd "$folder"
stop() { kill $(cat slurmd.pid slurmctld.pid munge.pid 2>/dev/null) 2>/dev/null || true; sleep 1; rm -rf "$folder"; }
trap stop EXIT

export SLURM_CONF=$folder/slurm.conf
chmod 755 "$folder"
mkdir state spool
head -c 1024 /dev/urandom > munge.key && chmod 600 munge.key
munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munge.pid" \
    --log-file="$folder/munge.log" --seed-file="$folder/munge.seed"
node=$(hostname -s) cpus=$(nproc)
cat > slurm.conf <<CONF
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=$node NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=$node Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
CONF
slurmctld && slurmd
for _ in $(seq 30); do sinfo -h -o %T | grep -q idle && break; sleep 1; done
sinfo

"$exaln" search --query "$queries" --db "$database" --outfmt 7 --out whole.txt

cat > jobs.toml <<CONF
jobs = 2
cpus = 1
memory = "1GB"
partition = "main"
walltime = "00:30:00"
shared = "$folder"
CONF
"$exaln" search --query "$queries" --db "$database" --outfmt 7 --out cluster.txt --cluster slurm --cluster-config jobs.toml --verbose
cmp whole.txt cluster.txt && echo "--cluster slurm: the same"

cat > shards.sh <<CONF
#!/bin/bash
#SBATCH --array=1-7
#SBATCH --cpus-per-task=1
#SBATCH --output=shard-%a.log
"$exaln" search --query "$queries" --db "$database" --shard \$SLURM_ARRAY_TASK_ID/7 --out part-\$SLURM_ARRAY_TASK_ID.parquet
CONF
sbatch --wait shards.sh
"$exaln" merge part-*.parquet --outfmt 7 --out merged.txt
cmp whole.txt merged.txt && echo "job array of 7 shards: the same"
