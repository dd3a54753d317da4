"""A certificate for one run, with an ECDSA key on P-256."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    certificate: Path
    key: Path

    @property
    def settings(self):
        """The gateway's settings for this certificate."""
        return {"TLS_CERTIFICATE": str(self.certificate), "TLS_KEY": str(self.key)}


def make(directory):
    made = Certificate(directory / "certificate.pem", directory / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command += ["-keyout", made.key, "-out", made.certificate]
    subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=60)
    return made
