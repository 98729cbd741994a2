/* SPDX-License-Identifier: MIT */
/* libcrypto's assembly: multiplications of big numbers, hashes, a cipher; to be single-stepped. */
#define OPENSSL_SUPPRESS_DEPRECATED 1
#include <openssl/aes.h>
#include <openssl/bn.h>
#include <openssl/md5.h>
#include <openssl/sha.h>

enum { BITS = 1024, TEXT_BYTES = 300 };

static int multiplies(void)
{
	BN_CTX *context = BN_CTX_new();
	BIGNUM *modulus = BN_new(), *base = BN_new(), *exponent = BN_new(), *result = BN_new();
	int done = 0;
	if (context && modulus && base && exponent && result) {
		BN_set_bit(modulus, BITS - 1);
		BN_add_word(modulus, 12345 | 1);
		BN_set_bit(base, BITS - 3);
		BN_add_word(base, 777);
		BN_set_word(exponent, 7);
		done = BN_mod_exp(result, base, exponent, modulus, context) &&
		       BN_mod_exp_mont_consttime(result, base, exponent, modulus, context, NULL);
	}
	BN_free(modulus);
	BN_free(base);
	BN_free(exponent);
	BN_free(result);
	BN_CTX_free(context);
	return done;
}

int main(void)
{
	static unsigned char text[TEXT_BYTES], hash[SHA512_DIGEST_LENGTH], out[TEXT_BYTES + 16];
	unsigned char key[16] = {1}, vector[16] = {2};
	AES_KEY schedule;
	SHA256_CTX sha256;
	SHA512_CTX sha512;
	SHA_CTX sha1;
	MD5_CTX md5;
	int done = multiplies();
	done &= SHA256_Init(&sha256) && SHA256_Update(&sha256, text, sizeof(text)) &&
		SHA256_Final(hash, &sha256);
	done &= SHA512_Init(&sha512) && SHA512_Update(&sha512, text, sizeof(text)) &&
		SHA512_Final(hash, &sha512);
	done &= SHA1_Init(&sha1) && SHA1_Update(&sha1, text, sizeof(text)) &&
		SHA1_Final(hash, &sha1);
	done &= MD5_Init(&md5) && MD5_Update(&md5, text, sizeof(text)) && MD5_Final(hash, &md5);
	done &= AES_set_encrypt_key(key, 128, &schedule) == 0;
	AES_cbc_encrypt(text, out, 256, &schedule, vector, AES_ENCRYPT);
	return done ? 0 : 1;
}
