#!/bin/sh
# Makes the test data beside it: two signers, and cabinets with their
# signatures. Needs openssl, python3 and osslsigncode.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "$work/plain.cab" <<'PY'
import struct, sys
# A cabinet of one stored file (MS-CAB): header, folder, file, data block.
content = b'{"name":"greeter"}\n'
name = b"manifest.json\0"
files = 36 + 8
data = files + 16 + len(name)
block = struct.pack("<IHH", 0, len(content), len(content)) + content
header = struct.pack("<4sIIIIIBBHHHHH", b"MSCF", 0, data + len(block), 0, files, 0, 3, 1, 1, 1, 0, 7, 0)
folder = struct.pack("<IHH", data, 1, 0)
entry = struct.pack("<IIHHHH", len(content), 0, 0, 0x5B78, 0x6000, 0x20) + name
open(sys.argv[1], "wb").write(header + folder + entry + block)
PY
cp "$work/plain.cab" plain.cab

signer() {
    openssl req -x509 -newkey "$2" $3 -sha256 -nodes -days 36500 -subj "/O=Example/CN=$4" \
        -addext extendedKeyUsage=codeSigning -keyout "$work/$1.key" -out "$1.pem" 2>/dev/null
    openssl x509 -in "$1.pem" -outform DER -out "$1.der"
}
sign() {
    osslsigncode sign -certs "$2.pem" -key "$work/$2.key" -h "$3" -in plain.cab -out "$work/$1" >/dev/null
    cp "$work/$1" "$1"
}
signer rsa rsa:2048 '' 'Example Plugins'
signer ec ec '-pkeyopt ec_paramgen_curve:P-256' 'Example Curves'
sign rsa.cab rsa sha256
sign rsa384.cab rsa sha384
sign ec.cab ec sha256
sign sha1.cab rsa sha1
