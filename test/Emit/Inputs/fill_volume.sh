# fill_volume.sh APC FOLDER: mounts FOLDER/volume, emits FOLDER/plan/plan.json into it twice, and lists what is there then.
set -e
mount -t tmpfs none "$2/volume"
"$1" emit "$2/plan/plan.json" -o "$2/volume" --rank all > "$2/log"
"$1" emit "$2/plan/plan.json" -o "$2/volume" > "$2/log"
ls -A "$2/volume" > "$2/listed"
