package effect

// harmlessCommands are commands that people and agents run to look at things.
const harmlessCommands = `
ls -lah --color=auto
cat -n f | head -20
head -c 100 f
tail -n +5 f
wc -l *.go
wc -l src/*.go
sort -t, -k2,2n f
sort -u f | uniq -c | sort -rn | head
cut -c1-80 f
tr -d '\r' < f
tr a-z A-Z <f
nl -ba f
od -c f
hexdump -C f | head
strings bin/app | grep foo
md5sum f
sha256sum *.iso
diff -u a b
diff -r dir1 dir2
cmp a b
comm -12 <(sort a) <(sort b)
join a b
paste -sd, f
column -t f
fold -w 80 f
fmt f
rev f
base64 f
base64 -d f
xxd f
stat -c %s f
file f
du -sh .
du -sh * | sort -h
df -h
tree -L 2
tree -I node_modules
pwd
basename /a/b
dirname /a/b
realpath f
readlink -f f
which python3
type ls
whereis ls
date
date +%Y-%m-%d
date -d yesterday
date -u
cal
uptime
whoami
id
groups
hostname
uname -a
env
printenv PATH
echo $PATH
echo "$HOME"
echo ${USER}
printf '%s\n' foo
test -d x
[ -z "$X" ]
expr 1 + 2
seq 1 10
true
ps aux
ps -ef | grep node
pgrep node
free -m
vmstat 1 2
lsof -i :3000
ss -tlnp
netstat -an
ip addr show
ip route
ifconfig
lscpu
lsblk
lspci
mount | grep ext4
dmesg | tail
journalctl -u nginx --since today
systemctl status nginx
systemctl list-units --type=service
crontab -l
last
w
who
git status -s
git log --oneline -n 5
git log --graph --decorate --all
git log -p -- f
git log --since='2 weeks ago' --author=me
git diff
git diff HEAD~1
git diff --stat main...feature
git diff --cached
git show --stat HEAD
git show HEAD:src/a.ts
git blame -L 10,20 f
git branch
git branch -a
git branch -vv
git branch --show-current
git branch --contains abc
git tag
git tag -l 'v*'
git remote -v
git remote show origin
git remote get-url origin
git stash list
git stash show -p
git config --list
git config user.email
git config -l --show-origin
git rev-parse --abbrev-ref HEAD
git rev-list --count HEAD
git ls-files
git ls-files -m
git ls-tree -r HEAD --name-only
git cat-file -p HEAD
git describe --tags --always
git shortlog -sn
git reflog
git worktree list
git submodule status
git grep -n foo
git ls-remote origin
git check-ignore -v f
git merge-base main HEAD
git for-each-ref --sort=-committerdate refs/heads
git count-objects -vH
git whatchanged
git cherry -v
git diff-tree --no-commit-id --name-only -r HEAD
git version
git help log
git --version
git --no-pager log -1
rg foo
rg -n --type ts foo src
rg --files | head
rg -g '*.ts' foo
rg -uu foo
grep -rn foo .
grep -rn --include='*.py' foo src
grep -E 'a|b' f
grep -v '^#' f
grep -c foo f
grep -A3 -B3 foo f
egrep foo f
fd -e ts
fd . src
find . -type f -name '*.py' -not -path './venv/*'
find . -maxdepth 2 -type d
find . -newer f
find . -size +1M -ls
find . -mtime -1 -printf '%p\n'
find . \( -name a -o -name b \) -print
ag foo
ack foo
awk '{print $1}' f
awk -F: '{print $1, $3}' /etc/passwd
awk '/foo|bar/ {c++} END {print c}' f
awk 'NR==1 || /x/' f
awk '{s+=$1} END {print s/NR}' f
awk '$3 > 100 {print $0}' f
sed -n '10,20p' f
sed 's/a/b/g' f
sed -n '/start/,/end/p' f
sed -E 's/(a|b)/x/' f
sed '1d;$d' f
sed -e 's/a/b/' -e '/x/d' f
sed 10q f
jq '.a | .b' f.json
jq -r '.[] | select(.x > 1) | .y' f.json
cat package.json | jq .scripts
yq .a f.yml
xmllint --xpath //a f.xml
python --version
python3 -V
node -v
npm -v
npm ls --depth=0
npm list -g
npm view react version
npm outdated
npm config list
npm root
npm audit
yarn list
yarn why x
yarn -v
pnpm ls
pip list
pip show x
pip freeze
pip --version
pip3 check
uv pip list
poetry show
cargo --version
cargo tree
cargo metadata --format-version 1
rustc --version
go version
go env GOPATH
go list -m all
go doc fmt
java -version
javac -version
mvn -v
gradle --version
ruby -v
gem list
bundle list
php -v
composer show
dotnet --version
dotnet --list-sdks
make --version
gcc --version
cmake --version
docker ps -a
docker images
docker logs -f --tail 100 c
docker inspect c
docker version
docker info
docker stats --no-stream
docker network ls
docker volume ls
docker compose ps
docker compose logs web
docker-compose ps
kubectl get pods -A
kubectl get pods -n foo -o wide
kubectl get pod x -o yaml
kubectl describe pod x
kubectl logs x -f --tail=10
kubectl top nodes
kubectl config get-contexts
kubectl config current-context
kubectl version
kubectl cluster-info
kubectl api-resources
kubectl rollout status deploy/x
kubectl explain pods
helm list -A
helm status x
helm get values x
helm search repo x
terraform version
terraform fmt -check
terraform state list
terraform workspace list
terraform providers
gh pr list
gh pr view 1 --json title
gh pr diff 1
gh pr checks
gh pr status
gh issue list --label bug
gh issue view 1
gh repo view
gh run list
gh run view 1 --log
gh api repos/o/r/pulls/1/comments
gh release list
gh auth status
gh search prs foo
gh workflow list
glab mr view 1
aws s3 ls s3://b
aws sts get-caller-identity
aws ec2 describe-instances --region us-east-1
aws logs tail /x --since 1h
aws iam list-users
aws lambda list-functions
gcloud config list
gcloud projects list
gcloud compute instances describe x
gcloud run services list
az group list
az account show
brew list --versions
brew info node
brew outdated
apt list --installed
apt-cache policy nginx
apt show nginx
dpkg -l
dpkg -L nginx
rpm -qa
pacman -Q
snap list
psql -c '\dt'
psql -l
mysql -e 'SHOW DATABASES'
sqlite3 db.sqlite '.schema'
sqlite3 db.sqlite 'SELECT count(*) FROM users WHERE id > 5'
redis-cli ping
redis-cli info
tmux ls
man git
less f
more f
bat f
alias
jobs
ulimit -a
umask
locale
nproc
tty
openssl version
ssh -V
curl --version
wget --version
tar tzf a.tgz
tar -tvf a.tar
unzip -l a.zip
zipinfo a.zip
gzip -l a.gz
zcat a.gz | head
gunzip -c a.gz
7z l a.7z
readelf -h a
nm a.out
objdump -d a.out | head
ldd /bin/ls
lsof -p 1
nslookup example.com
dig example.com
host example.com
ping -c 1 localhost
traceroute x
whois example.com
tsc --noEmit
eslint .
prettier --check .
mypy src
ruff check .
black --check .
shellcheck x.sh
hadolint Dockerfile
cloc .
tokei
ls | xargs -n 1 echo
timeout 10 git status
time git log
nice -n 10 ls
command ls
xargs -n1 basename < f
cat f | tee /dev/null
echo hi >&2
ls 2>/dev/null || true
cat f 2>/dev/null | head
if git diff --quiet; then echo clean; fi
for i in 1 2 3; do echo $i; done
vault status
consul members
nomad status
heroku apps
fly status
vercel ls
netlify status
stripe customers list
rabbitmqctl list_queues
kafka-topics --list --bootstrap-server x
mongosh --version
pg_isready
sensors
sw_vers
system_profiler SPHardwareDataType
defaults read com.apple.dock
launchctl list
flatpak list
code --version
code --list-extensions
nvm ls
pyenv versions
rustup show
conda list
conda env list
jupyter --version
ollama list
deno --version
bun --version
bun pm ls
act -l
pre-commit --version
hugo version
ansible --version
vagrant status
multipass list
lsb_release -a
cat /etc/os-release
cat /proc/cpuinfo
cat /etc/hosts
ls /etc
ls ~/.ssh
stat ~/.ssh/id_rsa
find . -type f -exec wc -l {} +
find . -name '*.txt' | xargs grep one
git ls-files | xargs wc -l
diff <(sort a.txt) <(sort b.txt)
for i in 1 2 3; do echo $i; done
if [ -f a.txt ]; then cat a.txt; fi
sort -t, -k1,1n n.csv | head -2
awk -F, '$1 > 1 {print $2}' n.csv
awk '/one|two/ {c++} END {print c}' a.txt
sed -n '1,2p' a.txt
sed -e 's/one/1/;s/two/2/' -e '$!N' a.txt
sed -n '/one/,/three/{=;p}' a.txt
sed ':a;N;$!ba;s/\n/ /g' a.txt
sed 'y/abc/xyz/' a.txt
jq '.a.b[] | select(. > 1)' a.json
tar tvf t.tar
tar -tzf t.tgz
tar cf - sub | wc -c
gzip -l b.txt.gz
zcat b.txt.gz
gunzip -c b.txt.gz
gzip -t b.txt.gz
git log --stat -p
git show HEAD:a.txt
git diff HEAD --stat
git blame a.txt
git grep -n one
git branch -a -v
git tag -l 'v*'
git describe --tags --always --dirty
git stash list
git worktree list
git fsck
git count-objects -v
git for-each-ref
git cat-file -p HEAD
git archive --format=tar HEAD | wc -c
git config --list
git ls-tree -r HEAD
git status --porcelain --ignored
git diff --no-index a.txt b.txt
git check-ignore -v a.txt
git rev-list --all --count
git log --graph --all --oneline
env FOO=1 cat a.txt
env -i ls
timeout 5 ls -la
nice -n 5 sort a.txt
stdbuf -oL cat a.txt
setsid ls
bash -c 'ls; cat a.txt'
sh -c 'pwd'
echo 'ls' | bash
eval "ls -la"
(cd sub && ls)
cat <<'EOF' | sort
strings prog | head
readelf -h prog
od -c a.txt | head
make --version
date -d yesterday
ps aux | head
`
