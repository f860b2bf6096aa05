//! Keys that only tests know. They were made for this and open nothing.

/// An RSA key of 2048 bits: PKCS #1, in base64.
pub(super) const RSA: &str = "\
MIIEpAIBAAKCAQEApsLEfzLL8EB5iK3fi7K2g0HcC9pxfQ0FCVicgsrIHIP2jsOWuDjyhePqfWhO+XsYkW7tY7/M96cj/4pb\
eu8XSGdsiNwsBBNivydhYjtKbSPOPzowhW5IQVEQea7msB42aaL1QNO5wz35nt/8n+nu3QjOKUVADuncqDE8f3XxEAsd0JP1\
gJsDF+JP+ltG1mP5bchUMzqb9zJw+K6NiBnicFo5XH/AXFB52N+qdJdhX3QvXLP2a1fblxHPPStAUBuLB+x6fH+S2beQ9p1r\
M5OXnSwrD7wzfTfSL9JVzZYva343G31N9CWsutwS8/yQh0vEiUGhqnXeV6J7DFCsP4sahwIDAQABAoIBAALARXqYYsSTY7iN\
WcSVuFdrqjl91eUgu7EJnQdhWLIeZokOEU9NDTSH69yRcHVtgkcVQ+WjNTqZWh7Ymvq+YALJ8KtEqpXkoKU+UpJ1dPGzp1mO\
rbHofa5U1oc+C0CONwqWGCKve383kgXSHyT04y5n+0gIru5auFEEAuyoDEfd8u03qcu8gZ2JufLFo89ayY/bzNTOKHPDIbvc\
6MfKK7302VSQJ27emOyzZMyFcGCpyFEmSWOm9qZ8EraxncNh2n0STartcu1/bFOF0B9tmzYhFFzYP4LSKr3yI5SRFGalvVh8\
FV4aiSh5u6+wuRdz9gCte1a5Ch0z9mjc9k4T5zkCgYEA1dkwbCHQVLI24YEVi05bxvDgAFwjGTvdoXYVsG0DduiYt3r7Oz1t\
Qbv+G7+bXGJSBXgI1Z9WYPwSsCgX3PncqheuB31Gs8aqSTwoIBDexsw//9LGsOv4TNnVY9eFrztaXn37xRflV2hjGSfP0nsw\
koaL5XVViAB9xps/sugl2C8CgYEAx6GIyXubhJhCimoO29pyxL6loO1P9iRdBRpXC0U/BUAHcqEd6msBawd0t5JlxCpcOB2/\
ZzbeUv8QCzVbk7g0ukgtsxIO4IH60D7dZ0Fk6I6ODN5/HTVp7eM3gLslnxLdP11a5TNAd/ft8mWDGcw95PHm8TzPoivfib5x\
+ZuydSkCgYEAwvmgLaby1JYcdaSE6RuLkCpEge9/zN0JaNJKWi46r2rI+tk1QMDz4bAuskwTsbqvP+8+Vs9NKWYK//O+NirW\
J3spoAh3syfaUKV5jCr1g1nsrCoYIG01WZRu+/YgHDHIZkkFiaEM6JHzcJcc47KQCbiEyrQdRL/17WPVQyBoiN8CgYB9OXDq\
omT9md0zoi/L7Y3MqKKQ/gwIpOrMxqcPZNKRYobJexOe9pyfHMA0XtsDYGcUtGRaRGrVuTXBMilN0mEQ8THpgExgvGgutSCB\
It4/mxy0KeWm1tip5rvsPnjs/hJXKyJXX/zyxE04nkDMr/erY6qwbKr6WXcRmqs4HlilcQKBgQC6wfXESWujKzBQ4408ekCP\
x//ujgk9klRHOIDTMHe349tcNzFBTcdpKAD5COZ3pgXc7wkkamAFnnJGPwfSF0cXo0N9Hz7xrSpY+ZuvE8VZHAZ0t2NHuLl1\
EGmCyjpHzfG3Ghe/dCyAmE1N+jDRN+h2/YDhbuaYbR9mZTvSoKIt9A==";
/// The modulus of its public half, in base64url; the exponent is `AQAB`.
pub(super) const RSA_MODULUS: &str = "\
psLEfzLL8EB5iK3fi7K2g0HcC9pxfQ0FCVicgsrIHIP2jsOWuDjyhePqfWhO-XsYkW7tY7_M96cj_4pbeu8XSGdsiNwsBBNi\
vydhYjtKbSPOPzowhW5IQVEQea7msB42aaL1QNO5wz35nt_8n-nu3QjOKUVADuncqDE8f3XxEAsd0JP1gJsDF-JP-ltG1mP5\
bchUMzqb9zJw-K6NiBnicFo5XH_AXFB52N-qdJdhX3QvXLP2a1fblxHPPStAUBuLB-x6fH-\
S2beQ9p1rM5OXnSwrD7wzfTfSL9JVzZYva343G31N9CWsutwS8_yQh0vEiUGhqnXeV6J7DFCsP4sahw";
/// The modulus of another, of 1024 bits.
pub(super) const SMALL_MODULUS: &str = "\
8o91b1RluqVmjrgDk8MHPEC1Ld0GDDCj3QrZvkW6K4r4Zh2eH0fS9Uf4cSz30HFxrzU9TIVOZF75EHP6ergeniVhBnDu3Daq\
k8sWk8eOZW_jDSZ0ehbRKEF0qTwrdLNPeH6AED5UWQns3ZPPXxfUR186Ns1gMpiUjfWkfMB9ny8";
/// A P-256 key: PKCS #8, in base64.
pub(super) const EC: &str = "\
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPjPnatDsSleOr4SVmMttwMbPi0+XOYQMwpPbfDifol+hRANC\
AASGQQvFcIVd/jLcRhIb0E5UEIw/Ru5PLgiqtp+qURHJLgcnLTs7Q81sC8KDS6Fxd0sEFj+CxUKqHmqlcyG/SzhZ";
/// The public half of it.
pub(super) const EC_X: &str = "hkELxXCFXf4y3EYSG9BOVBCMP0buTy4IqrafqlERyS4";
pub(super) const EC_Y: &str = "ByctOztDzWwLwoNLoXF3SwQWP4LFQqoeaqVzIb9LOFk";
